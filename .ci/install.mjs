// Installs the dependencies when they are missing or older than the lock file. Runs before every npm script, on the
// Node that is already on the machine (20 or newer): plain JavaScript, no dependency. Of scripts that are started at
// once, one installs and the others wait: npm empties node_modules first, so two would delete each other's files.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const lock = 'package-lock.json';
const stamp = 'node_modules/.installed-lock.json';

/** Held by the one that installs. Beside node_modules, which npm deletes. */
const turn = '.installing';
/** How long it stays untouched when its holder was killed. No clocks are compared: whoever waits looks whether it changes. */
const STALE_MS = Number(process.env.INSTALL_STALE_MS ?? 10_000);
/** How often its holder touches it. */
const TOUCH_MS = STALE_MS / 20;
const own = randomUUID();

const isInstalled = () =>
  existsSync(stamp) &&
  existsSync('node_modules/node/bin/node') &&
  existsSync('test/clients/node_modules/openapi-typescript') &&
  readFileSync(stamp, 'utf8') === readFileSync(lock, 'utf8');

/** Takes the turn if nobody has it. */
function take() {
  try {
    writeFileSync(turn, own, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** What tells one touch from the next; undefined if nobody has the turn. */
const touched = () => {
  const { mtimeMs, ino } = statSync(turn, { throwIfNoEntry: false }) ?? {};
  return mtimeMs && `${ino} ${mtimeMs}`;
};

/** Waits until this process has its turn, or somebody else has installed. */
async function haveTurn() {
  let seen = touched();
  let since = performance.now();
  for (let told = false; !take(); ) {
    if (!told) console.error('Waiting for another script that installs the dependencies …');
    told = true;
    await sleep(100);
    const now = touched();
    if (now !== seen) since = performance.now();
    seen = now;
    if (now === undefined || performance.now() - since < STALE_MS) continue;
    // Others may do the same at this moment, and remove what the first of them has just made: see below.
    rmSync(turn, { force: true });
    if (!take()) continue;
    await sleep(2 * TOUCH_MS * Math.random() + 250);
    if (isOwn()) return;
  }
}

const isOwn = () => existsSync(turn) && readFileSync(turn, 'utf8') === own;

function npmCi() {
  console.error('Installing the dependencies (only when package-lock.json changes) …');
  const npm = process.env.npm_execpath;
  const [command, ...before] = npm ? [process.execPath, npm] : ['npm'];
  const child = spawn(command, [...before, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: ['ignore', 2, 2],
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

async function install() {
  await haveTurn();
  const touching = setInterval(() => isOwn() && utimesSync(turn, new Date(), new Date()), TOUCH_MS);
  try {
    // While this one waited, another may have done it.
    if (isInstalled()) return 0;
    const code = await npmCi();
    if (code === 0) copyFileSync(lock, stamp);
    else console.error('npm ci failed; see above.');
    return code;
  } finally {
    clearInterval(touching);
    if (isOwn()) rmSync(turn, { force: true });
  }
}

if (!isInstalled()) process.exitCode = await install();
