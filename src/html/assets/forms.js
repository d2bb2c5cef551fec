// Behaviour of all forms. Every action works without this file.

// Forms are submitted once: a second click while the response is pending does nothing.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.method !== 'post') return;
  if (form.dataset.sent === 'yes') event.preventDefault();
  form.dataset.sent = 'yes';
  if (form.dataset.leaves) showLeft();
});

/** An app with a scheme of its own opens beside this page, which stays although its forms are done with. */
function showLeft() {
  const left = document.querySelector('[data-left]');
  if (!left) return;
  for (const form of document.forms) form.hidden = true;
  left.hidden = false;
}

// A page from the back/forward cache may be from before its reader has signed out. On others, forms may be submitted again.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted && document.querySelector('.rail')) {
    document.documentElement.hidden = true;
    return location.reload();
  }
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
});

// A file that is too large is not sent, because the answer might not arrive before the connection is closed.
document.addEventListener('change', ({ target }) => {
  if (!target.dataset.maxBytes) return;
  const isTooLarge = target.files[0]?.size > Number(target.dataset.maxBytes);
  target.setCustomValidity(isTooLarge ? `The file is too large: at most ${target.dataset.maxBytes / 1e6} MB.` : '');
  target.reportValidity();
});

// A box that ticks all others of its form, and is unticked with any of them.
document.addEventListener('change', ({ target }) => {
  const boxes = target.form ? [...target.form.querySelectorAll('input[type=checkbox]')] : [];
  const { ticks } = target.dataset;
  if (ticks) for (const box of boxes) if (box.name === ticks) box.checked = target.checked;
  if (!ticks && !target.checked) for (const box of boxes) if (box.dataset.ticks === target.name) box.checked = false;
});

// Counts the characters of a field with a maximum length.
document.addEventListener('input', ({ target }) => {
  const counter = target.id && document.querySelector(`[data-counts="${CSS.escape(target.id)}"]`);
  if (counter) counter.textContent = `${target.value.length} of ${target.maxLength} characters`;
});

// Cancel closes the form of a decision. In the list of requests, requests.js does.
document.addEventListener('click', ({ target }) => {
  if (!target.matches?.('[data-collapse]') || target.closest('.requests')) return;
  const open = target.closest(':has(> .decide)')?.querySelector('.decide details[open]');
  if (!open) return;
  open.open = false;
  open.querySelector('summary').focus();
});

// Buttons that fill in a reason given before.
for (const button of document.querySelectorAll('[data-reason]')) {
  const field = document.getElementById('reason');
  button.hidden = false;
  button.addEventListener('click', () => {
    field.value = button.dataset.reason;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.focus();
  });
}

// Copy buttons, in browsers that give pages access to the clipboard.
for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const status = button.nextElementSibling;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      status.textContent = 'Copied.';
    } catch {
      status.textContent = 'Your browser blocked copying. Select the text and copy it yourself.';
    }
  });
}
