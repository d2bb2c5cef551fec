// What pages can do beyond links and forms. Every action works without this file.

// A form is sent once: a second click while the answer is under way does nothing.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.dataset.sent === 'yes') {
    event.preventDefault();
    return;
  }
  if (form.method === 'post') form.dataset.sent = 'yes';
});

// Back from the browser's memory: forms may be sent again.
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
});
