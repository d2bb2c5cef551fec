// Shows a message at the edge of the page when another script dispatches "venue:say": for some seconds or, with `keep`, until it is
// closed. Screen readers announce it.
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
