// Installs the dependencies when they are missing or older than the lock file. Runs before every npm script, on the
// Node that is already on the machine (20 or newer): plain JavaScript, no dependency.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';

const lock = 'package-lock.json';
const stamp = 'node_modules/.installed-lock.json';

const installed =
  existsSync(stamp) &&
  existsSync('node_modules/node/bin/node') &&
  existsSync('test/clients/node_modules/openapi-typescript') &&
  readFileSync(stamp, 'utf8') === readFileSync(lock, 'utf8');

if (!installed) {
  console.error('Installing the dependencies (only when package-lock.json changes) …');
  const npm = process.env.npm_execpath;
  const [command, ...before] = npm ? [process.execPath, npm] : ['npm'];
  const { status } = spawnSync(command, [...before, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) {
    console.error('npm ci failed; see above.');
    process.exit(status ?? 1);
  }
  copyFileSync(lock, stamp);
}
