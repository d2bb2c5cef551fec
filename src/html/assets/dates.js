// The button beside a date field opens the browser's own calendar. Without this file dates are typed.
const WORDS = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

const inWords = (date) => WORDS.format(new Date(`${date}T12:00:00Z`)).replace(',', '');

/** The typed text in the format of a native field; empty if it is not a date. The service parses the text itself. */
function nativeValue(text, calendar) {
  const time = /[T\s]\d{1,2}:\d{2}(?::\d{2})?$/.exec(text)?.[0].slice(1);
  const day =
    time === undefined
      ? text
      : text
          .slice(0, -time.length - 1)
          .trimEnd()
          .replace(/,$/, '');
  const moment = Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(day) ? day : `${day.replace(/^[a-z]+,?\s+/i, '')} UTC`);
  if (Number.isNaN(moment)) return '';
  const date = new Date(moment).toISOString().slice(0, 10);
  return calendar === 'date' ? date : `${date}T${(time ?? '00:00').padStart(5, '0')}`;
}

function open(field) {
  const native = document.createElement('input');
  native.type = field.dataset.calendar;
  native.className = 'native';
  native.tabIndex = -1;
  native.setAttribute('aria-hidden', 'true');
  native.min = field.dataset.earliest ?? '';
  native.value = nativeValue(field.value.trim(), native.type);
  native.addEventListener('change', () => {
    if (native.value === '') return;
    const [date, time] = native.value.split('T');
    field.value = time === undefined ? inWords(date) : `${inWords(date)}, ${time}`;
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
