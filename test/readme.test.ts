import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { newSigningSecret, serviceSignature } from '../src/webhooks/signature.ts';
import { freePort } from './free-port.ts';
import { startServiceProcess, temporaryDataDir } from './service/service-process.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** The first fenced block of a language after a heading. */
function block(heading: string, language: string): string {
  const [, section = ''] = readme.split(`\n## ${heading}\n`);
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(section) ?? [];
  if (code === undefined) throw new Error(`README has no ${language} under "${heading}"`);
  return code;
}

test('the table of settings lists exactly those that are read, with their defaults', () => {
  const [, section = ''] = readme.split('\n## Configuration\n');
  const rows = [...section.matchAll(/^\| `([A-Z_]+)` +\| (.+?) +\|/gm)].map(
    ([, name, fallback]) => [name, fallback] as const,
  );
  const read = new Set<string>();
  const env = new Proxy<Record<string, string>>(
    { DATA_DIR: temporaryDataDir() },
    {
      get(target, name) {
        read.add(String(name));
        return target[String(name)];
      },
    },
  );
  const config = readConfig(env);
  expect(rows.map(([name]) => name).sort()).toEqual([...read].sort());

  const defaults = new Map(rows.map(([name, fallback]) => [name, fallback?.replaceAll('`', '')]));
  expect(defaults.get('PORT')).toBe(String(config.port));
  expect(defaults.get('HOST')).toBe(config.host);
  expect(defaults.get('PUBLIC_URL')?.replace('PORT', '3000')).toBe(config.publicUrl);
  expect(defaults.get('ROLES')).toBe([...config.roles].join(','));
  expect(defaults.get('SERVICE_FEE_PERCENT')).toBe(String(config.serviceFeePercent));
  expect(defaults.get('CURRENCY')).toBe(config.currency);
  expect(defaults.get('WEBHOOKS_ALLOW_PRIVATE')).toBe(String(config.webhooksAllowPrivate));
  expect(defaults.get('DEMO')).toMatch(new RegExp(`^${config.demo}, `));
  expect(defaults.get('LOG_LEVEL')).toBe(config.logLevel);
});

test('every linked file exists', () => {
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = '']) => path);
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('every folder mentioned exists', () => {
  const [, section = ''] = readme.split('\n## Where things are\n');
  const folders = [...section.matchAll(/`((?:src|projections|test)\/[\w./-]*)`/g)].map(([, path = '']) => path);
  expect(folders.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

const hasCurl = spawnSync('curl', ['--version']).status === 0;

test.skipIf(!hasCurl)('the first booking works when pasted (needs curl)', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  const folder = temporaryDataDir();
  symlinkSync(dataDir, join(folder, 'data'));

  const pasted = block('A first booking', 'sh').replaceAll('http://localhost:3000', service.url);
  const booking = /curl[^#]*-d[^#]*/.exec(pasted)?.[0] ?? '';
  const shell = spawn('sh', ['-eu', '-c', `${pasted}\n${booking}`], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(shell, 'close');
  expect(shell.exitCode).toBe(0);

  // Four JSON values, one directly after another.
  const answers = JSON.parse(`[${output.replace(/([}\]])\s*(?=[{[]"|\[\{)/g, '$1,')}]`);
  expect(answers).toMatchObject([
    { timeSlots: expect.arrayContaining([{ hour: 10, label: '10:00 AM', isAvailable: true }]) },
    { status: 'Pending', startHour: 10, totalPrice: 483 },
    [{ status: 'Pending', startHour: 10 }],
    { error: 'SlotUnavailable', details: expect.any(String) },
  ]);
});

test('the receiver accepts what is signed and refuses everything else', async () => {
  const folder = temporaryDataDir();
  const port = await freePort();
  const code = block('Webhooks', 'js');
  expect(code.split('\n').filter((line) => line.trim() !== '')).toHaveLength(12);
  writeFileSync(join(folder, 'receiver.mjs'), code.replace('4000', String(port)));
  const secret = newSigningSecret();
  const receiver = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { SIGNING_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void receiver.kill('SIGKILL'));
  let printed = '';
  receiver.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });

  const body = JSON.stringify({ event: 'BookingRequested', timestamp: '2026-01-01T00:00:00Z', data: { bookingId: 7 } });
  const post = async (signature: string, sent = body) => {
    const headers = { 'x-service-signature': signature };
    return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body: sent })).status;
  };
  const genuine = serviceSignature(secret, body);
  await expect.poll(() => post(genuine).catch(() => 0)).toBe(200);
  expect(printed).toContain('BookingRequested 7');
  expect(await post(genuine, `${body} `)).toBe(401);
  expect(await post(serviceSignature(newSigningSecret(), body))).toBe(401);
  expect(await post('')).toBe(401);
  expect(await post('not hex at all')).toBe(401);
});
