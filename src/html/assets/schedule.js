// Browsers do not scroll to a focused element that is partly visible, but the sticky hours or headings of the schedule may cover it.
document.addEventListener('focusin', ({ target }) => {
  if (target.closest('.schedule') && target.matches(':focus-visible'))
    target.scrollIntoView({ block: 'nearest', inline: 'nearest' });
});
