// Browsers do not scroll to a focused element that is partly visible. In the schedule the sticky hours or headings may cover it.
document.addEventListener('focusin', ({ target }) => {
  if (target.closest('.schedule') && target.matches(':focus-visible'))
    target.scrollIntoView({ block: 'nearest', inline: 'nearest' });
});
