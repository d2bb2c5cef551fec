// The button beside a date field opens the browser's own calendar. Without this file dates are typed.
const WORDS = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** What is typed, as YYYY-MM-DD; empty if it is no date yet. The service has the last word. */
function isoOf(text) {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  const moment = Date.parse(`${text.replace(/^[a-z]+,?\s+/i, '')} UTC`);
  return Number.isNaN(moment) ? '' : new Date(moment).toISOString().slice(0, 10);
}

function open(field) {
  const calendar = document.createElement('input');
  calendar.type = 'date';
  calendar.tabIndex = -1;
  calendar.setAttribute('aria-hidden', 'true');
  calendar.min = field.dataset.earliest ?? '';
  calendar.value = isoOf(field.value.trim());
  calendar.addEventListener('change', () => {
    if (calendar.value === '') return;
    field.value = WORDS.format(new Date(`${calendar.value}T12:00:00Z`)).replace(',', '');
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
  field.parentElement.querySelector('input[type=date]')?.remove();
  field.after(calendar);
  calendar.showPicker();
}

function offer() {
  if (!('showPicker' in HTMLInputElement.prototype)) return;
  for (const button of document.querySelectorAll('.pickable > .pick[hidden]')) button.hidden = false;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('.pickable > .pick');
  if (button) open(button.parentElement.querySelector('input'));
});
document.addEventListener('venue:refreshed', offer);
offer();
