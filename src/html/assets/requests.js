// Answers requests without leaving the list, also by keyboard. Everything works without this file
// (docs/decisions/console.md).
const list = document.querySelector('.requests');
const bulk = document.querySelector('.request-bar');
const bulkButtons = [...(bulk?.querySelectorAll('[data-selected]') ?? [])];

/** Keys do not act on a row that has appeared or moved within this time, in milliseconds. */
const SETTLED_MS = 1000;

const announce = (text, how = {}) =>
  document.dispatchEvent(new CustomEvent('venue:announce', { detail: { text, ...how } }));
const rows = () => [...list.querySelectorAll('.request-row')];
const isOpen = (row) => row.querySelector('.decide') !== null;
const rowOf = (element) => element?.closest?.('.request-row') ?? undefined;

function start() {
  rove(rows().find(isOpen));
  watchPositions();
  for (const hidden of bulk.querySelectorAll('[hidden]')) hidden.hidden = false;
  document.addEventListener('submit', onSubmit);
  list.addEventListener('focusin', ({ target }) => rove(rowOf(target)));
  list.addEventListener('keydown', onKey);
  document.addEventListener('keydown', onPageKey);
  list.addEventListener('toggle', onToggle, true);
  list.addEventListener('click', onCollapse);
  document.addEventListener('change', onChange);
  document.addEventListener('venue:refreshed', countSelected);
  countSelected();
  initKeySwitch();
}

/** Puts one row into the tab order: the one that had the focus last. */
function rove(row) {
  if (!row) return;
  for (const other of rows()) other.tabIndex = other === row ? 0 : -1;
}

// Selecting.

const boxes = () => [...list.querySelectorAll('input[name=id]')];
/** Selects the requests of all pages. */
const everyPage = bulk?.querySelector('[name=all]');

function countSelected() {
  const selected = boxes().filter(({ checked }) => checked).length;
  const isAll = everyPage?.checked === true;
  for (const button of bulkButtons) {
    const { selected: word } = button.dataset;
    button.disabled = selected === 0 && !isAll;
    const count = isAll ? ' (all)' : selected === 0 ? '' : ` (${selected})`;
    button.textContent = `${word} selected${count}${isAll || word === 'Decline' ? '…' : ''}`;
  }
  const onPage = bulk.querySelector('[data-select-all]');
  onPage.checked = selected > 0 && selected === boxes().length;
  onPage.indeterminate = selected > 0 && !onPage.checked;
}

function onChange({ target }) {
  if (!target.matches('[data-select-all], [name=all], input[name=id]')) return;
  if (!target.matches('input[name=id]')) for (const box of boxes()) box.checked = target.checked;
  if (everyPage && !target.checked) everyPage.checked = false;
  countSelected();
}

// Answering, one form at a time, so that an older answer never replaces a newer one.

let queue = Promise.resolve();
let isByKey = false;
document.addEventListener('pointerdown', () => (isByKey = false), true);
document.addEventListener('keydown', () => (isByKey = true), true);

function onSubmit(event) {
  const { target: form, submitter } = event;
  const isOurs = form === bulk || list.contains(form);
  if (event.defaultPrevented || !isOurs || form.dataset.plain) return;
  event.preventDefault();
  // Set by forms.js for forms that leave the page. Here, `ariaBusy` of the row prevents a second answer.
  delete form.dataset.sent;
  const row = rowOf(submitter) ?? rowOf(form);
  const concerned = row
    ? [row]
    : boxes()
        .filter(({ checked }) => checked)
        .map(rowOf);
  if (concerned.some(({ ariaBusy }) => ariaBusy === 'true')) return;
  for (const one of concerned) one.ariaBusy = 'true';
  // A live update may replace the row before its turn.
  const data = new FormData(form, submitter);
  queue = queue.then(() => send(form, submitter, data, concerned, row)).catch(reportError);
}

async function send(form, submitter, data, concerned, row) {
  data.set(
    'shown',
    rows()
      .map(({ dataset }) => dataset.key)
      .join('.'),
  );
  data.set('since', list.dataset.liveSince);
  const action = submitter.getAttribute('formaction') ?? form.getAttribute('action');
  let response;
  let text;
  try {
    response = await fetch(action, { method: 'POST', body: new URLSearchParams(data) });
    text = await response.text();
  } catch {
    return announce('The service cannot be reached. Try again in a moment.', { keep: true });
  } finally {
    for (const one of concerned) one.ariaBusy = null;
  }
  if (!response.ok || !response.redirected || new URL(response.url).pathname !== '/console/inbox') {
    // A live update has removed the button: the row shows how the request was answered.
    if (!submitter.isConnected) return focusNext(row);
    // Send the form again as a page, to show its answer: a question, an error or the end of the session. It takes effect only once.
    form.dataset.plain = 'yes';
    return form.requestSubmit(submitter);
  }
  const page = new DOMParser().parseFromString(text, 'text/html');
  document.dispatchEvent(
    new CustomEvent('venue:answer', { detail: { page, answered: concerned.map(({ id }) => id) } }),
  );
  for (const flash of page.querySelectorAll('.flash'))
    announce(flash.textContent.trim(), flash.classList.contains('done') ? { quiet: true } : { keep: true });
  countSelected();
  focusNext(row ?? concerned.at(-1));
}

/** Moves the focus to the next pending request, or else to the link to further ones. */
function focusNext(row) {
  const all = rows();
  const next = [...all.slice(all.indexOf(row) + 1), ...all.slice(0, all.indexOf(row))].find(isOpen);
  const to = next ?? document.querySelector('.pager a:last-child') ?? row;
  if (next) arrived.set(next, performance.now());
  to.focus({ preventScroll: true });
  if (isByKey) to.scrollIntoView({ block: 'nearest' });
}

// Forms that open inside a row, below its buttons.

/** The form that a summary opens, which is after the buttons. */
const formOf = (details) => rowOf(details).querySelector(details.matches('.decline') ? '.to-decline' : '.to-approve');

function onCollapse({ target }) {
  if (target.matches('[data-collapse]')) collapse(rowOf(target));
}

function collapse(row) {
  const open = row.querySelector('.decide details[open]');
  if (!open) return false;
  open.open = false;
  row.focus();
  return true;
}

function onToggle({ target }) {
  const row = rowOf(target);
  if (!row || !target.open || !target.closest('.decide')) return;
  for (const other of row.querySelectorAll('.decide details[open]')) if (other !== target) other.open = false;
  const ask = formOf(target);
  ask.querySelector('input[name=reason], button').focus({ preventScroll: !isByKey });
  if (isByKey) ask.scrollIntoView({ block: 'nearest' });
}

// Keys.

/** Where each row is and since when, and when the script last moved the focus to it. */
const positions = new WeakMap();
const arrived = new WeakMap();

function recordPositions() {
  const now = performance.now();
  for (const row of rows()) {
    const top = row.getBoundingClientRect().top + scrollY;
    if (Math.abs((positions.get(row)?.top ?? -9) - top) > 1) positions.set(row, { top, since: now });
  }
}

function watchPositions() {
  recordPositions();
  const observer = new ResizeObserver(recordPositions);
  for (const element of [list, document.querySelector('main'), document.body]) observer.observe(element);
}

function isSettled(row) {
  recordPositions();
  const since = Math.max(positions.get(row).since, arrived.get(row) ?? 0);
  return performance.now() - since >= SETTLED_MS;
}

const STORAGE_KEY = 'console-keys';
const stored = (write) => {
  try {
    if (write !== undefined) localStorage.setItem(STORAGE_KEY, write);
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    // Storage is blocked: the setting applies to this page only.
    return write ?? null;
  }
};
let isOn = stored() !== 'off';

function initKeySwitch() {
  const box = document.querySelector('[data-use-keys]');
  box.checked = isOn;
  box.addEventListener('change', () => {
    isOn = box.checked;
    stored(isOn ? 'on' : 'off');
  });
}

const move = (row, step) => {
  const all = rows();
  const to = all[all.indexOf(row) + step];
  to?.focus({ preventScroll: true });
  to?.scrollIntoView({ block: 'nearest' });
};

const ACTIONS = {
  j: (row) => move(row, 1),
  k: (row) => move(row, -1),
  '?': () => document.getElementById('key-help').showPopover(),
};
/** These change something. */
const DECISIONS = {
  // A row whose brand has to be let in first has neither, and one whose amounts the member does not see has none.
  a: (row) => row.querySelector('.decide > button:not([data-decline-all]), .approve > summary')?.click(),
  d: (row) => {
    const decline = row.querySelector('.decline');
    if (decline) decline.open = true;
    else row.querySelector('[data-decline-all]')?.click();
  },
  x: (row) => row.querySelector('input[name=id]')?.click(),
};

function onKey(event) {
  const { target, key } = event;
  const row = rowOf(target);
  if (!row || event.defaultPrevented) return;
  if (key === 'Escape') {
    if (collapse(row)) event.preventDefault();
    return;
  }
  if (isTyping(event)) return;
  if (target === row && key === 'ArrowDown') return act(event, () => move(row, 1));
  if (target === row && key === 'ArrowUp') return act(event, () => move(row, -1));
  if (!isOn) return;
  if (Object.hasOwn(ACTIONS, key)) return act(event, () => ACTIONS[key](row));
  if (!Object.hasOwn(DECISIONS, key)) return;
  act(event, () => {
    if (event.repeat || !isOpen(row) || row.ariaBusy === 'true') return;
    if (isSettled(row)) DECISIONS[key](row);
    else announce('This request has just moved here. Check it, then press the key again.', { brief: true });
  });
}

/** From anywhere else on the page, `j` and `k` go to the row that had the focus last. */
function onPageKey(event) {
  const { target, key } = event;
  if (!isOn || rowOf(target) || event.defaultPrevented || isTyping(event)) return;
  if (document.querySelector(':popover-open')) return;
  if (key === '?') return act(event, ACTIONS['?']);
  if (key !== 'j' && key !== 'k') return;
  const row = list.querySelector('.request-row[tabindex="0"]') ?? rows()[0];
  if (!row) return;
  arrived.set(row, performance.now());
  act(event, () => {
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
  });
}

const isTyping = ({ target, ctrlKey, metaKey, altKey }) =>
  ctrlKey || metaKey || altKey || target.matches('input:not([type=checkbox]), textarea, select');

function act(event, action) {
  event.preventDefault();
  action();
}

if (list && bulkButtons.length > 0) start();
