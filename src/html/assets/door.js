// The sheet at a door, on a screen that no person uses: reads the page again, and keeps the last one while the service cannot be reached.
const EVERY_MS = 30_000;
const STALE_MS = 3 * EVERY_MS;
const WITHIN_MS = 20_000;

const script = import.meta.url;
let readAt = performance.now();

async function readAgain() {
  const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(WITHIN_MS) });
  // 404: the address was revoked, which the page says.
  if (!answer.ok && answer.status !== 404) throw new Error(`Answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const main = page.querySelector('main');
  if (main === null) throw new Error('The answer is no page');
  const next = page.querySelector('script[src*="door"]')?.getAttribute('src');
  // A newer release.
  if (next && new URL(next, location.href).href !== script) return location.reload();
  readAt = performance.now();
  document.title = page.title;
  document.querySelector('main').replaceWith(document.adoptNode(main));
}

/** Says how old the sheet is. By the time since, as the clock of a screen may be wrong. */
function sayIfStale() {
  const age = performance.now() - readAt;
  if (age < STALE_MS) return;
  const main = document.querySelector('main');
  const note = main.querySelector('.stale') ?? main.appendChild(document.createElement('p'));
  note.className = 'stale';
  note.role = 'status';
  const minutes = Math.floor(age / 60_000);
  note.textContent = `Not updated for ${minutes} minute${minutes === 1 ? '' : 's'}: the service cannot be reached.`;
}

async function keepUpToDate() {
  await readAgain().catch(sayIfStale);
  setTimeout(keepUpToDate, EVERY_MS);
}
setTimeout(keepUpToDate, EVERY_MS);
