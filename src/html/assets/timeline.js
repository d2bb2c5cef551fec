// Adds a slider over the steps of a booking's timeline.
function addSlider() {
  const form = document.querySelector('form.as-of');
  if (!form || form.querySelector('input[type=range]')) return;
  const steps = [...document.querySelectorAll('.timeline > li')];
  if (steps.length < 2) return;
  const slider = document.createElement('input');
  slider.type = 'range';
  slider.min = '0';
  slider.max = String(steps.length - 1);
  slider.value = slider.max;
  slider.setAttribute('aria-label', 'Timeline step');
  const show = () => {
    const at = Number(slider.value);
    const word = steps[at].dataset.state;
    slider.setAttribute('aria-valuetext', word);
    form.querySelector('#at').value = steps[at].dataset.at;
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
