// Escape closes what has the focus or was opened last; menus are closed by the browser itself.
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
