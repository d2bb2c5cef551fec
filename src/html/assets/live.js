// Pages refresh their live regions when the service reports a change (docs/decisions/live-pages.md).
const { live } = document.body.dataset;
const announce = (text, brief = false) =>
  document.dispatchEvent(new CustomEvent('venue:say', { detail: { text, brief } }));
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
    if (say) announce(say);
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
    if (isInUse(region)) announce('This page has changed. Reload it when you are done.', true);
    else region.replaceChildren(...next.childNodes);
  }
  document.dispatchEvent(new CustomEvent('venue:refreshed'));
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

connect();
