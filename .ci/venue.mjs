#!/usr/bin/env node
// `npx venue`: installs missing packages, as the npm scripts do, and runs the command line on the Node that is among them. Plain JavaScript
// without dependencies, because it starts on the Node that is already on the machine (20 or newer).
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = spawnSync(process.execPath, ['.ci/install.mjs'], { cwd: root, stdio: ['ignore', 2, 2] });
if (installed.status !== 0) process.exit(1);

const venue = spawn(`${root}node_modules/.bin/node`, [`${root}src/cli.js`, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// The command line gets the Ctrl-C of the terminal itself; this process ends after it.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => venue.kill('SIGTERM'));
venue.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
