// Pages refresh their live regions when the service reports a change (docs/decisions/console.md). If that would move or replace
// something clickable, a notice offers the change instead.
const { live } = document.body.dataset;
const dispatch = (type, detail) => document.dispatchEvent(new CustomEvent(type, { detail }));
/** How long to wait before connecting again after a refusal, in milliseconds. */
const REFUSED_MS = 30_000;
let source;
let mark = live;
let pending;
/** Whether the reader has been told of another role. */
let isTold = false;
/** How many answers to forms have been shown. */
let answers = 0;

function connect() {
  if (!live || source || document.hidden) return;
  source = new EventSource(`/console/live?${new URLSearchParams([['after', mark], ...topics()])}`);
  source.addEventListener('message', (event) => {
    if (event.lastEventId) mark = event.lastEventId;
    const message = JSON.parse(event.data);
    const regions = [...document.querySelectorAll('[data-live-region]')];
    if (message.topic !== '*' && !regions.some((region) => region.dataset.liveRegion === message.topic)) return;
    scheduleRefresh();
    // The inbox shows what has changed in its rows, and counts new requests.
    if (message.announcement)
      dispatch('venue:announce', {
        text: message.announcement,
        quiet: document.getElementById('request-news') !== null,
      });
  });
  // The connection was refused: the session has ended, or the service cannot answer at the moment.
  source.addEventListener('error', ({ target }) => {
    if (target.readyState !== EventSource.CLOSED || target !== source) return;
    source = undefined;
    setTimeout(connect, REFUSED_MS);
  });
}

/** What the regions of this page are about, besides the account. */
function topics() {
  const all = [...document.querySelectorAll('[data-live-region]')].map((region) => region.dataset.liveRegion);
  return [...new Set(all)].filter((topic) => topic !== '').map((topic) => ['topic', topic]);
}

// Background tabs close their connection: browsers allow only a few per host.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return connect();
  source?.close();
  source = undefined;
});

// The position of the pointer, and whether it is down: between press and release, nothing may change.
const pointer = { x: -1, y: -1, down: false };
for (const type of ['pointermove', 'pointerdown', 'pointerup', 'pointercancel'])
  document.addEventListener(
    type,
    ({ clientX, clientY, pointerType }) => {
      pointer.down = type === 'pointerdown' || (pointer.down && type === 'pointermove');
      // A lifted finger has no position.
      const gone = pointerType === 'touch' && !pointer.down;
      [pointer.x, pointer.y] = gone ? [-1, -1] : [clientX, clientY];
    },
    { capture: true, passive: true },
  );
document.documentElement.addEventListener('pointerleave', () => {
  [pointer.x, pointer.y] = [-1, -1];
});

/** The address of this page with the rows that it shows, so that the service keeps them once they are answered. */
function address() {
  const url = new URL(location.href);
  url.hash = '';
  for (const list of document.querySelectorAll('[data-live-keep]')) {
    const keys = [...list.querySelectorAll('[data-key]')].map((row) => row.dataset.key);
    url.searchParams.set(list.dataset.liveKeep, keys.join('.'));
    url.searchParams.set('since', list.dataset.liveSince);
  }
  return url;
}

function scheduleRefresh() {
  clearTimeout(pending);
  pending = setTimeout(refresh, 120);
}

async function refresh() {
  if (pointer.down) return scheduleRefresh();
  const before = answers;
  let response;
  try {
    const headers = { 'x-live-refresh': 'yes' };
    response = await fetch(address(), { redirect: 'manual', cache: 'no-store', headers });
  } catch {
    // The next message tries again.
    return;
  }
  if (response.type === 'opaqueredirect')
    return dispatch('venue:announce', { text: 'This page is no longer kept up to date. Reload it.', keep: true });
  // The reader may no longer open the page.
  if (response.status === 403) return tellOfRole();
  if (response.status !== 200) return;
  const text = await response.text();
  // An answer to a form that was shown in the meantime is newer than this page.
  if (pointer.down || answers !== before) return scheduleRefresh();
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  if (fresh.body.dataset.role !== document.body.dataset.role) tellOfRole();
  show(fresh);
}

/** What the page offers outside its regions may be refused from now on. */
function tellOfRole() {
  if (isTold) return;
  isTold = true;
  dispatch('venue:announce', { text: 'Your role has changed. Reload this page.', keep: true });
}

/** Updates the regions that the reader is not using from a newer rendering of this page, and offers the rest in a notice. */
function show(fresh, answered) {
  let held = false;
  for (const region of document.querySelectorAll('[data-live-region][id]')) {
    const next = fresh.getElementById(region.id);
    if (!next || next.dataset.liveRegion !== region.dataset.liveRegion) continue;
    if (comparable(next) === comparable(region)) continue;
    const isWanted = answered?.includes(region.id);
    if (!(isWanted || !isInUse(region)) || !replace(region, next)) held = true;
  }
  document.title = fresh.title;
  dispatch('venue:held', { held });
  dispatch('venue:refreshed');
}

// Another script has sent a form and got this page as the answer. The answered regions are replaced even while in use.
document.addEventListener('venue:answer', ({ detail: { page, answered } }) => {
  answers += 1;
  show(page, answered);
});

/** The markup of an element without what differs on every page (tokens) and what scripts and readers change. */
function comparable(element) {
  const copy = element.cloneNode(true);
  for (const each of copy.querySelectorAll('[name="once"], [name="csrf"], [type="range"], .counter, .now'))
    each.remove();
  for (const name of ['data-sent', 'checked', 'tabindex', 'role', 'title'])
    for (const each of copy.querySelectorAll(`[${name}]`)) each.removeAttribute(name);
  return copy.innerHTML;
}

/** Whether a region is a row of a list that keeps its rows and their selection. */
const isRow = (region) => region.closest('[data-live-keep]') !== null;

/** Whether the reader is working in a region, which must then not be replaced. */
function isInUse(region) {
  if (region.querySelector('details[open], form[data-sent]')) return true;
  const { activeElement } = document;
  if (region.contains(activeElement) && activeElement.matches('input:not([type=checkbox]), textarea, select'))
    return true;
  const selection = getSelection();
  if (!selection.isCollapsed && region.contains(selection.anchorNode)) return true;
  return [...region.querySelectorAll('textarea, select, input:not([type=hidden], [type=range])')].some((control) => {
    if (control.type === 'checkbox' && isRow(region)) return false;
    if (control.matches('select'))
      return [...control.options].some((option) => option.selected !== option.defaultSelected);
    return control.value !== control.defaultValue || control.checked !== control.defaultChecked;
  });
}

const CLICKABLE = 'a[href], button, summary, select, textarea, label, input:not([type=hidden])';

/** A text that identifies what a click on an element does. */
function effectOf(element) {
  if (element.dataset.does) return element.dataset.does;
  if (element.matches('a')) return `go ${element.getAttribute('href')}`;
  if (element.matches('summary')) return `open ${element.textContent}`;
  if (element.matches('label')) return `label ${element.textContent}`;
  const to = element.getAttribute('formaction') ?? element.form?.getAttribute('action');
  if (element.matches('button')) return `send ${to} ${element.name} ${element.value} ${element.textContent}`;
  const choice = element.matches('[type=checkbox], [type=radio]') ? element.value : '';
  return `fill in ${to} ${element.name} ${element.type} ${choice}`;
}

/**
 * The visible clickable elements: what they do, and where they are. Without the free hours of a plan: a booking may take their place, except
 * under the pointer.
 */
function clickables() {
  const found = [];
  for (const element of document.querySelectorAll(CLICKABLE)) {
    if (element.closest('.free')) continue;
    const box = element.getBoundingClientRect();
    const isSeen = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    if (isSeen && isOnTop(element)) found.push({ does: effectOf(element), box });
  }
  return found;
}

/** Whether a click would reach an element, which a sticky bar may cover. */
function isOnTop(element) {
  const [line] = element.getClientRects();
  const [x, y] = [(line.left + line.right) / 2, (line.top + line.bottom) / 2];
  // The middle may be outside of the window.
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return true;
  return element.contains(document.elementFromPoint(x, y));
}

const isAt = (one, other) => Math.abs(one.left - other.left) <= 1 && Math.abs(one.top - other.top) <= 1;
const overlap = (one, other) =>
  one.left < other.right - 1 && one.right > other.left + 1 && one.top < other.bottom - 1 && one.bottom > other.top + 1;
const isUnderPointer = ({ left, right, top, bottom }) =>
  pointer.x >= left && pointer.x <= right && pointer.y >= top && pointer.y <= bottom;

/** Whether every clickable element is where it was or gone, and none has appeared where another one was or under the pointer. */
function isStable(before, after) {
  const left = [...after];
  const gone = [];
  for (const one of before) {
    const still = left.findIndex(({ does, box }) => does === one.does && isAt(box, one.box));
    if (still >= 0) left.splice(still, 1);
    else gone.push(one);
  }
  // The remaining ones are new, or have moved.
  return left.every(
    ({ does, box }) =>
      !gone.some((one) => one.does === does) && !before.some((one) => overlap(one.box, box)) && !isUnderPointer(box),
  );
}

/**
 * Replaces the content of a region. Focus and selected rows are kept, and the region gets no shorter, so that nothing below it moves up.
 * If a clickable element would move all the same, the region is left as it was.
 * @returns whether it was replaced
 */
function replace(region, next) {
  const before = clickables();
  const { activeElement } = document;
  const hadFocus = region !== activeElement && region.contains(activeElement) ? effectOf(activeElement) : undefined;
  const old = [...region.childNodes];
  const floor = region.style.minHeight;
  region.style.minHeight = `${region.getBoundingClientRect().height}px`;
  const checked = [...region.querySelectorAll('input[type=checkbox]:checked')].map(effectOf);
  const { scrollX, scrollY } = window;
  region.replaceChildren(...next.cloneNode(true).childNodes);
  if (isRow(region))
    for (const box of region.querySelectorAll('input[type=checkbox]')) box.checked = checked.includes(effectOf(box));
  // Other scripts add their elements now, so that the check below includes them.
  dispatch('venue:replaced');

  const successor =
    hadFocus && [...region.querySelectorAll(CLICKABLE)].find((element) => effectOf(element) === hadFocus);
  const keepsFocus = hadFocus === undefined || successor || region.hasAttribute('tabindex');
  if (keepsFocus && isStable(before, clickables())) {
    if (hadFocus !== undefined) (successor || region).focus({ preventScroll: true });
    return true;
  }
  region.replaceChildren(...old);
  region.style.minHeight = floor;
  scrollTo(scrollX, scrollY);
  if (hadFocus !== undefined) activeElement.focus({ preventScroll: true });
  return false;
}

// Minimum heights were measured at another width.
let width = innerWidth;
addEventListener('resize', () => {
  if (width === innerWidth) return;
  width = innerWidth;
  for (const region of document.querySelectorAll('[data-live-region]')) region.style.minHeight = '';
});

connect();
