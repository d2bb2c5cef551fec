// Says something at the edge of the page for some seconds, and to screen readers: another script dispatches "venue:say".
const toast = document.querySelector('.toast');
let fading;

document.addEventListener('venue:say', ({ detail: { text, brief } }) => {
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(
    () => {
      toast.hidden = true;
    },
    brief ? 4000 : 8000,
  );
});
