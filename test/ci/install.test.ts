import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const SCRIPT = new URL('../../.ci/install.mjs', import.meta.url).pathname;

/** Stands in for npm: ci empties the folder, both take their time, and they fail if two run at once. */
const NPM = `
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
const [command, ...options] = process.argv.slice(2);
appendFileSync('npm.log', [command, ...options.filter((each) => /dev|save/.test(each))].join(' ') + '\\n');
if (existsSync('at-it')) { appendFileSync('npm.log', 'at the same time\\n'); process.exit(7); }
writeFileSync('at-it', '');
if (command === 'ci') rmSync('node_modules', { recursive: true, force: true });
await sleep(Number(process.env.NPM_TAKES_MS));
rmSync('at-it');
if (existsSync('broken')) process.exit(9);
mkdirSync('node_modules/.bin', { recursive: true });
if (existsSync('does-not-start')) writeFileSync('node_modules/.bin/node', '#!/bin/sh\\nexit 127', { mode: 0o755 });
writeFileSync('node_modules/' + command, '');
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-install-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'package-lock.json'), '{}');
  await writeFile(join(folder, 'npm.mjs'), NPM);
});

/** Runs the script. @returns its exit code and whether the packages were there when it ended */
async function install(args: readonly string[] = [], settings: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, npm_execpath: join(folder, 'npm.mjs'), NPM_TAKES_MS: '300', ...settings };
  const { code, stderr } = await run(process.execPath, [SCRIPT, ...args], { cwd: folder, env }).then(
    (output) => ({ code: 0, ...output }),
    (error: { code: number; stderr: string }) => error,
  );
  return { code, isThere: existsSync(join(folder, 'node_modules/ci')), stderr };
}

const calls = async () => (await readFile(join(folder, 'npm.log'), 'utf8').catch(() => '')).trim().split('\n');
const outcomes = (ended: readonly { code: number; isThere: boolean }[]) =>
  ended.map(({ code, isThere }) => ({ code, isThere }));

test('one of several scripts installs, and the others wait for it', async () => {
  // Long enough for all of them to start meanwhile, also on a busy machine.
  const slowly = { NPM_TAKES_MS: '2000' };
  const ended = await Promise.all(Array.from({ length: 4 }, () => install([], slowly)));
  expect(outcomes(ended)).toEqual(Array(4).fill({ code: 0, isThere: true }));
  expect(await calls()).toEqual(['ci --omit=dev']);
  expect(ended.filter(({ stderr }) => /waiting/i.test(stderr))).toHaveLength(3);
  expect(await install()).toEqual({ code: 0, isThere: true, stderr: '' });
  expect(await calls()).toHaveLength(1);
});

test('a development script adds packages to those of a running service', async () => {
  await install();
  await install(['--dev']);
  expect(await calls()).toEqual(['ci --omit=dev', 'install --no-save --include=dev']);
  expect(existsSync(join(folder, 'node_modules/ci'))).toBe(true);
  // Those of the service are among them.
  await install();
  expect(await calls()).toHaveLength(2);
});

test('a changed lock file installs the same set of packages again', async () => {
  await install();
  await writeFile(join(folder, 'package-lock.json'), '{ "changed": 1 }');
  await install();
  await install(['--dev']);
  await writeFile(join(folder, 'package-lock.json'), '{ "changed": 2 }');
  await install();
  expect(await calls()).toEqual([
    ...['ci --omit=dev', 'ci --omit=dev', 'install --no-save --include=dev'],
    'ci --include=dev',
  ]);
});

test('after a failure the next script tries again', async () => {
  await writeFile(join(folder, 'broken'), '');
  const ended = await Promise.all([install(), install()]);
  expect(outcomes(ended)).toEqual(Array(2).fill({ code: 9, isThere: false }));
  expect(await calls()).toHaveLength(2);
  await rm(join(folder, 'broken'));
  expect(await install()).toMatchObject({ code: 0, isThere: true });
});

test('a Node that does not start is said, and the next script tries again', async () => {
  await writeFile(join(folder, 'does-not-start'), '');
  expect(await install()).toMatchObject({ code: 1, stderr: expect.stringMatching(/^The Node .* does not start/m) });
  await rm(join(folder, 'does-not-start'));
  expect(await install()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('does not start') });
  expect(await calls()).toEqual(['ci --omit=dev', 'ci --omit=dev']);
});

test('one script takes over from a script that was killed', async () => {
  await writeFile(join(folder, '.installing'), '4711');
  const quick = { INSTALL_STALE_MS: '2000' };
  const ended = await Promise.all([install([], quick), install([], quick)]);
  expect(outcomes(ended)).toEqual(Array(2).fill({ code: 0, isThere: true }));
  expect(await calls()).toHaveLength(1);
  expect(existsSync(join(folder, '.installing'))).toBe(false);
});
