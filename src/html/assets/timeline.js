// Adds a slider over the steps of a booking's timeline.
const WORDS = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});
/** `2026-11-20T09:30:15` as the field shows it. */
const inWords = (moment) => `${WORDS.format(new Date(`${moment}Z`)).replace(',', '')}, ${moment.split('T')[1]}`;

function addSlider() {
  const form = document.querySelector('form[data-timeline]');
  if (!form || form.querySelector('input[type=range]')) return;
  const moments = form.dataset.timeline.split(' ').filter(Boolean);
  const steps = [...document.querySelectorAll('.timeline > li')];
  if (moments.length < 2) return;
  const slider = document.createElement('input');
  slider.type = 'range';
  slider.min = '0';
  slider.max = String(moments.length - 1);
  slider.value = slider.max;
  slider.setAttribute('aria-label', 'Timeline step');
  const show = () => {
    const at = Number(slider.value);
    const word = steps[at].querySelector('strong').textContent;
    slider.setAttribute('aria-valuetext', word);
    form.querySelector('#at').value = inWords(moments[at]);
    steps.forEach((step, index) => {
      step.classList.toggle('later', index > at);
    });
    const since = steps[at].querySelector('time').textContent;
    document.getElementById('state-then').textContent = `${word} since ${since}`;
  };
  slider.addEventListener('input', show);
  form.querySelector('.hint').after(slider);
}
addSlider();
document.addEventListener('venue:replaced', addSlider);
