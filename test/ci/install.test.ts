import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const SCRIPT = new URL('../../.ci/install.mjs', import.meta.url).pathname;

/** Stands in for npm: empties the folder, takes its time, and fails if anybody else is at it. */
const NPM = `
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
appendFileSync('npm.log', process.argv.slice(2, 3) + ' begins\\n');
if (existsSync('at-it')) { appendFileSync('npm.log', 'at the same time\\n'); process.exit(7); }
writeFileSync('at-it', '');
rmSync('node_modules', { recursive: true, force: true });
await sleep(Number(process.env.NPM_TAKES_MS));
rmSync('at-it');
if (existsSync('broken')) process.exit(9);
for (const file of ['node_modules/node/bin/node', 'test/clients/node_modules/openapi-typescript/package.json']) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
}
appendFileSync('npm.log', 'done\\n');
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-install-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'package-lock.json'), '{}');
  await writeFile(join(folder, 'npm.mjs'), NPM);
});

/** What a script of package.json runs first. Resolves to its exit code, and whether everything was there when it ended. */
async function install(settings: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, npm_execpath: join(folder, 'npm.mjs'), NPM_TAKES_MS: '300', ...settings };
  const { code, stderr } = await run(process.execPath, [SCRIPT], { cwd: folder, env }).then(
    (output) => ({ code: 0, ...output }),
    (error: { code: number; stderr: string }) => error,
  );
  const isThere = existsSync(join(folder, 'node_modules/.installed-lock.json'));
  return { code, isThere, stderr };
}

const log = () => readFile(join(folder, 'npm.log'), 'utf8').catch(() => '');

test('of scripts that are started at once, one installs and the others wait for it', async () => {
  const ended = await Promise.all([install(), install(), install(), install()]);
  expect(ended.map(({ code, isThere }) => ({ code, isThere }))).toEqual(Array(4).fill({ code: 0, isThere: true }));
  expect(await log()).toBe('ci begins\ndone\n');
  expect(ended.filter(({ stderr }) => /waiting/i.test(stderr))).toHaveLength(3);
  // From then on nothing is to do.
  expect(await install()).toEqual({ code: 0, isThere: true, stderr: '' });
  expect(await log()).toBe('ci begins\ndone\n');
});

test('if it fails, the next one tries, and each says so', async () => {
  await writeFile(join(folder, 'broken'), '');
  const ended = await Promise.all([install(), install()]);
  expect(ended.map(({ code, isThere }) => ({ code, isThere }))).toEqual(Array(2).fill({ code: 9, isThere: false }));
  expect(await log()).toBe('ci begins\nci begins\n');
  await rm(join(folder, 'broken'));
  expect(await install()).toMatchObject({ code: 0, isThere: true });
});

test('what a killed one left behind holds up nobody for good', async () => {
  await mkdir(join(folder, 'node_modules'));
  await writeFile(join(folder, '.installing'), '4711');
  const ended = await Promise.all([install({ INSTALL_STALE_MS: '2000' }), install({ INSTALL_STALE_MS: '2000' })]);
  expect(ended.map(({ code, isThere }) => ({ code, isThere }))).toEqual(Array(2).fill({ code: 0, isThere: true }));
  expect(await log()).toBe('ci begins\ndone\n');
  expect(existsSync(join(folder, '.installing'))).toBe(false);
});
