// Escape closes the disclosure (`details`) around the focus, or else the one opened last. The browser itself closes popovers.
let opened;
document.addEventListener(
  'toggle',
  ({ target }) => {
    if (target.matches('details[open]')) opened = target;
  },
  { capture: true },
);

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
  if (document.querySelector(':popover-open')) return;
  const { activeElement } = document;
  const last = opened?.isConnected && opened.open ? opened : undefined;
  const details = activeElement?.closest('details[open]') ?? last;
  if (!details) return;
  if (details.contains(activeElement)) details.querySelector('summary').focus();
  details.open = false;
});
