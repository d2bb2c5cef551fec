// Says something at the edge of the page, and to screen readers: another script dispatches "venue:say". For some seconds, or, with
// `keep`, until the reader closes it.
const toast = document.querySelector('.toast');
let fading;

const close = () => {
  toast.hidden = true;
};

document.addEventListener('venue:say', ({ detail: { text, brief, keep } }) => {
  if (!toast) return;
  clearTimeout(fading);
  toast.textContent = text;
  toast.hidden = false;
  if (!keep) {
    fading = setTimeout(close, brief ? 4000 : 8000);
    return;
  }
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'rail-button';
  button.textContent = 'Close';
  button.addEventListener('click', close);
  toast.append(button);
});
