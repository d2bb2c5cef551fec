// The button beside a date field opens the browser's own calendar. Without this file dates are typed.
const WORDS = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

const inWords = (date) => WORDS.format(new Date(`${date}T12:00:00Z`)).replace(',', '');

/** A typed text as its date and its time, which may be missing. */
function partsOf(text) {
  const time = /[T\s]\d{1,2}:\d{2}(?::\d{2})?$/.exec(text)?.[0].slice(1);
  if (time === undefined) return { day: text };
  const day = text
    .slice(0, -time.length - 1)
    .trimEnd()
    .replace(/,$/, '');
  return { day, time };
}

/** The typed date in the format of a native field; empty if it is none. The service parses the text itself. */
function nativeValue(day) {
  const moment = Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(day) ? day : `${day.replace(/^[a-z]+,?\s+/i, '')} UTC`);
  return Number.isNaN(moment) ? '' : new Date(moment).toISOString().slice(0, 10);
}

function open(field) {
  const { day, time = '00:00' } = partsOf(field.value.trim());
  const native = document.createElement('input');
  // Also for a field with a time, which is typed: Firefox has a calendar without times, and gives no date until both are chosen.
  native.type = 'date';
  native.className = 'native';
  native.tabIndex = -1;
  native.setAttribute('aria-hidden', 'true');
  native.min = field.dataset.earliest ?? '';
  native.value = nativeValue(day);
  native.addEventListener('change', () => {
    if (native.value === '') return;
    field.value = inWords(native.value) + (field.dataset.calendar === 'moment' ? `, ${time}` : '');
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
  field.parentElement.querySelector('.native')?.remove();
  field.after(native);
  native.showPicker();
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
document.addEventListener('venue:replaced', offer);
offer();
