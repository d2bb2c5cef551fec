// What pages can do beyond links and forms. Every action works without this file.

// A form is sent once: a second click while the answer is under way does nothing.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.method !== 'post') return;
  if (form.dataset.sent === 'yes') event.preventDefault();
  form.dataset.sent = 'yes';
});

// Back from the browser's memory: forms may be sent again.
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
});

// Copy buttons, where the browser lets pages copy.
for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const said = button.nextElementSibling;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      said.textContent = 'Copied.';
    } catch {
      said.textContent = 'The browser did not allow it: select the text and copy it.';
    }
  });
}

// The timeline gets a slider over its steps.
function slide() {
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
  slider.setAttribute('aria-label', 'Step of the timeline');
  const show = () => {
    const at = Number(slider.value);
    const word = steps[at].querySelector('strong').textContent;
    slider.setAttribute('aria-valuetext', word);
    form.querySelector('#at').value = moments[at];
    steps.forEach((step, index) => {
      step.classList.toggle('later', index > at);
    });
    const since = steps[at].querySelector('time').textContent;
    document.getElementById('state-then').textContent = `${word} since ${since}`;
  };
  slider.addEventListener('input', show);
  form.querySelector('.hint').after(slider);
}
slide();

// Pages look again at what they show when the service says that something changed.
const { live } = document.body.dataset;
let source;
let mark = live;
let pending;

function connect() {
  if (!live || source || document.hidden) return;
  source = new EventSource(`/console/live?after=${encodeURIComponent(mark)}`);
  source.addEventListener('message', (event) => {
    if (event.lastEventId) mark = event.lastEventId;
    const { topic, say } = JSON.parse(event.data);
    const regions = [...document.querySelectorAll('[data-live-region]')];
    if (topic !== '*' && !regions.some((region) => region.dataset.liveRegion === topic)) return;
    clearTimeout(pending);
    pending = setTimeout(lookAgain, 120);
    if (say) tell(say);
  });
}

// A tab in the background holds no connection: browsers allow only a few to one host.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return connect();
  source?.close();
  source = undefined;
});

async function lookAgain() {
  const answer = await fetch(location.href, { redirect: 'manual', cache: 'no-store' });
  // Signed out meanwhile: the next click says so.
  if (answer.status !== 200) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const region of document.querySelectorAll('[data-live-region][id]')) {
    const next = fresh.getElementById(region.id);
    if (!next || next.dataset.liveRegion !== region.dataset.liveRegion) continue;
    if (withoutTokens(next) === withoutTokens(region)) continue;
    if (isInUse(region)) tell('This page has changed. It is brought up to date when you are done here.', true);
    else region.replaceChildren(...next.childNodes);
  }
  slide();
}

// Tokens differ from page to page; a reader sees no difference.
const withoutTokens = (element) =>
  element.innerHTML
    .replace(/name="(?:once|csrf)" value="[^"]*"/g, '')
    .replace(/<input type="range"[^>]*>/g, '')
    .replace(/ data-sent="yes"/g, '');

// Nothing is taken away from under somebody's hands.
const isInUse = (region) =>
  region.querySelector('details[open]') !== null ||
  (region.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) ||
  [...region.querySelectorAll('textarea, input:not([type=hidden]):not([type=range])')].some(
    (control) => control.value !== control.defaultValue || control.checked !== control.defaultChecked,
  );

let toast;
function tell(text, later = false) {
  toast ??= document.querySelector('.toast');
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toast.fading);
  toast.fading = setTimeout(
    () => {
      toast.hidden = true;
    },
    later ? 4000 : 8000,
  );
}

connect();
