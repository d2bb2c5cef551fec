// Progressive enhancement of the console's pages. Every action works without this file.

// Forms are submitted once: a second click while the response is pending does nothing.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.method !== 'post') return;
  if (form.dataset.sent === 'yes') event.preventDefault();
  form.dataset.sent = 'yes';
});

// When a page is restored from the back/forward cache, its forms may be submitted again.
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
});

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

// Adds a slider over the steps of a booking's timeline.
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
addSlider();

// Pages refresh their live regions when the service reports a change (docs/decisions/live-pages.md).
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
    pending = setTimeout(refresh, 120);
    if (say) showToast(say);
  });
}

// Background tabs close their connection: browsers allow only a few per host.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return connect();
  source?.close();
  source = undefined;
});

async function refresh() {
  const response = await fetch(location.href, { redirect: 'manual', cache: 'no-store' });
  // The session may have ended; the next click leads to sign-in.
  if (response.status !== 200) return;
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const region of document.querySelectorAll('[data-live-region][id]')) {
    const next = fresh.getElementById(region.id);
    if (!next || next.dataset.liveRegion !== region.dataset.liveRegion) continue;
    if (withoutTokens(next) === withoutTokens(region)) continue;
    if (isInUse(region)) showToast('This page has changed. Reload it when you are done.', true);
    else region.replaceChildren(...next.childNodes);
  }
  addSlider();
}

// Tokens differ on every page, but that is no visible change.
const withoutTokens = (element) =>
  element.innerHTML
    .replace(/name="(?:once|csrf)" value="[^"]*"/g, '')
    .replace(/<input type="range"[^>]*>/g, '')
    .replace(/ data-sent="yes"/g, '');

// A region that the reader is working in is never replaced.
const isInUse = (region) =>
  region.querySelector('details[open]') !== null ||
  (region.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) ||
  [...region.querySelectorAll('textarea, input:not([type=hidden]):not([type=range])')].some(
    (control) => control.value !== control.defaultValue || control.checked !== control.defaultChecked,
  );

let toast;
function showToast(text, brief = false) {
  toast ??= document.querySelector('.toast');
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toast.fading);
  toast.fading = setTimeout(
    () => {
      toast.hidden = true;
    },
    brief ? 4000 : 8000,
  );
}

connect();
