// Installs the packages that are missing or older than package-lock.json: those that the service needs to run, with --dev the others
// too. Runs before every npm script, on the Node that is already on the machine (20 or newer): plain JavaScript, no dependency.
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const isDev = process.argv.includes('--dev');
const lock = 'package-lock.json';
/** Copies of the lock file that was installed. */
const stamps = { run: 'node_modules/.installed-run-lock.json', all: 'node_modules/.installed-lock.json' };

/** Exists while a script installs, which touches it. Beside node_modules, because npm ci deletes that. */
const turn = '.installing';
const own = `${process.pid} ${Math.random()}`;
/** How long the file stays untouched when its process was killed. */
const STALE_MS = Number(process.env.INSTALL_STALE_MS ?? 10_000);

const isCurrent = (stamp) => existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(lock, 'utf8');
const isInstalled = () => isCurrent(stamps.all) || (!isDev && isCurrent(stamps.run));
const isOwnTurn = () => existsSync(turn) && readFileSync(turn, 'utf8') === own;
const lastTouched = () => statSync(turn, { throwIfNoEntry: false })?.mtimeMs;

function takeTurn() {
  try {
    writeFileSync(turn, own, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

async function waitForTurn() {
  if (takeTurn()) return;
  console.error('Waiting for another script that installs packages …');
  let touched = lastTouched();
  for (let since = performance.now(); !takeTurn(); await sleep(100)) {
    if (lastTouched() !== touched) {
      touched = lastTouched();
      since = performance.now();
    } else if (performance.now() - since > STALE_MS) {
      // Another script may do the same at this moment: the one that writes last has the turn.
      writeFileSync(turn, own);
      await sleep(STALE_MS / 10);
      if (isOwnTurn()) return;
    }
  }
}

function npm(...args) {
  const path = process.env.npm_execpath;
  const [command, ...before] = path ? [process.execPath, path] : ['npm'];
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const child = spawn(command, [...before, ...args, ...options], { stdio: ['ignore', 2, 2] });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

/** Whether the Node that is one of the packages starts. If not, the system says why. */
function startsNode() {
  const path = 'node_modules/.bin/node';
  return !existsSync(path) || spawnSync(path, ['--version'], { stdio: ['ignore', 'ignore', 2] }).status === 0;
}

const LIBRARY = 'libatomic.so.1';

/** That Node needs a library which small Linux systems lack. Loading it fails otherwise if it is there, because it is no module of Node. */
function lacksLibrary() {
  try {
    process.dlopen({ exports: {} }, LIBRARY);
    return false;
  } catch (error) {
    return error.message.startsWith(`${LIBRARY}: cannot open`);
  }
}

/** npm ci empties node_modules first; npm install adds what is missing, and a service that runs in this folder keeps its packages. */
async function install() {
  const needsAll = isDev || existsSync(stamps.all);
  console.error(`Installing the packages ${needsAll ? 'to develop' : 'to run'} (only when ${lock} changes) …`);
  const code = isCurrent(stamps.run)
    ? await npm('install', '--no-save', '--include=dev')
    : await npm('ci', needsAll ? '--include=dev' : '--omit=dev');
  if (code === 0 && startsNode()) {
    copyFileSync(lock, needsAll ? stamps.all : stamps.run);
    return 0;
  }
  console.error(
    code === 0 ? 'The Node that was installed does not start; see above.' : 'npm could not install them; see above.',
  );
  if (process.platform === 'linux' && lacksLibrary())
    console.error(
      `The Node that runs the service needs ${LIBRARY}: apt-get install libatomic1 (Debian, Ubuntu), dnf install libatomic (Fedora).`,
    );
  return code || 1;
}

if (!isInstalled()) {
  await waitForTurn();
  const touching = setInterval(() => isOwnTurn() && utimesSync(turn, new Date(), new Date()), STALE_MS / 20);
  try {
    // Another script may have installed them while this one waited.
    if (!isInstalled()) process.exitCode = await install();
  } finally {
    clearInterval(touching);
    if (isOwnTurn()) rmSync(turn);
  }
}
