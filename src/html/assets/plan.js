// The plan of a day. Everything works without this file.

const LINKS = '.plan tbody a';
/** Those that are shown: on a phone, free hours are not. */
const linksOf = (row) => [...row.querySelectorAll('a')].filter((link) => link.checkVisibility());

/** The whole plan is one stop of the Tab key, at the link that had the focus last; arrow keys move inside it. */
function start() {
  const table = document.querySelector('.plan-table');
  if (!table) return;
  table.role = 'grid';
  rove(document.querySelector(`${LINKS}[aria-current]`) ?? document.querySelector(LINKS));
}

function rove(link) {
  for (const other of document.querySelectorAll(LINKS)) other.tabIndex = other === link ? 0 : -1;
}

/** The link of a row that is nearest to another one, by the middle of both. */
function nearest(row, { left, right }) {
  const middle = (left + right) / 2;
  const distance = (link) => {
    const box = link.getBoundingClientRect();
    return Math.max(box.left - middle, middle - box.right, 0);
  };
  return row && linksOf(row).toSorted((a, b) => distance(a) - distance(b))[0];
}

document.addEventListener('keydown', (event) => {
  const link = event.target.closest?.(LINKS);
  if (!link || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const rows = [...link.closest('tbody').rows].filter((row) => linksOf(row).length > 0);
  const row = link.closest('tr');
  const links = linksOf(row);
  const [at, box] = [rows.indexOf(row), link.getBoundingClientRect()];
  const next = {
    ArrowLeft: () => links[links.indexOf(link) - 1],
    ArrowRight: () => links[links.indexOf(link) + 1],
    ArrowUp: () => nearest(rows[at - 1], box),
    ArrowDown: () => nearest(rows[at + 1], box),
    Home: () => links[0],
    End: () => links.at(-1),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  next()?.focus();
});

// Browsers do not scroll to a focused element that is partly visible, but the sticky hours or names may cover it.
document.addEventListener('focusin', ({ target }) => {
  if (!target.matches(LINKS)) return;
  rove(target);
  if (target.matches(':focus-visible')) target.scrollIntoView({ block: 'nearest', inline: 'nearest' });
});

// A text that is cut is shown beside the pointer.
document.addEventListener('pointerover', ({ target }) => {
  const cell = target.closest?.('.plan :is(td, th)');
  const part = cell?.querySelector('a, span');
  if (part && !cell.title) cell.title = (part.ariaLabel ?? part.textContent).trim().replaceAll(/\s+/g, ' ');
});

// A click on a free time asks for the hour under the pointer; the keyboard for the first one.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('.plan .free > a');
  if (!link || event.detail === 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const { left, top, width, height } = link.getBoundingClientRect();
  const isAcross = link.closest('.across') !== null;
  const share = isAcross ? (event.clientX - left) / width : (event.clientY - top) / height;
  const url = new URL(link.href);
  const [from, until] = ['startHour', 'free'].map((name) => Number(url.searchParams.get(name)));
  const hour = Math.min(until - 1, from + Math.floor(share * (until - from)));
  url.searchParams.set('startHour', hour);
  event.preventDefault();
  location.assign(url);
});

// Moves the line for now by a minute, which is the unit of its picture.
const MINUTE_MS = 60_000;
setInterval(() => {
  const line = document.querySelector('.now');
  if (line) line.viewBox.baseVal[line.closest('.across') ? 'x' : 'y'] -= 1;
}, MINUTE_MS);

start();
document.addEventListener('venue:replaced', start);
