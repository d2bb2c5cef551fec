// Browsers leave what gets the focus where it is as long as a part of it is in sight. In the schedule of a day the rest may be behind
// the hours or the headings, which stay in sight.
document.addEventListener('focusin', ({ target }) => {
  if (target.closest('.schedule') && target.matches(':focus-visible'))
    target.scrollIntoView({ block: 'nearest', inline: 'nearest' });
});
