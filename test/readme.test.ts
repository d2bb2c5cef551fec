import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { runVenue } from '../src/cli/venue.ts';
import { readConfig } from '../src/config.ts';
import { newSigningSecret, serviceSignature } from '../src/webhooks/send/signature.ts';
import { freePort } from './free-port.ts';
import { startServiceProcess, temporaryDataDir } from './service/service-process.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The fenced blocks of a language under a heading of a page. */
function blocks(page: string, heading: string, language: string): readonly string[] {
  const [, rest = ''] = read(page).split(`\n## ${heading}\n`);
  const [section = ''] = rest.split('\n## ');
  const found = [...section.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(([, code = '']) => code);
  if (found.length === 0) throw new Error(`${page} has no ${language} under "${heading}"`);
  return found;
}

test('the README is at most 10 KB', () => {
  expect(Buffer.byteLength(read('README.md'))).toBeLessThanOrEqual(10_000);
});

test('the table of settings lists exactly the settings that are read, with their defaults', () => {
  const rows = [...read('docs/operations/settings.md').matchAll(/^\| `([A-Z_]+)` +\| (.+?) +\|/gm)].map(
    ([, name, fallback]) => [name, fallback] as const,
  );
  const names = new Set<string>();
  const env = new Proxy<Record<string, string>>(
    { DATA_DIR: temporaryDataDir() },
    {
      get(target, name) {
        names.add(String(name));
        return target[String(name)];
      },
    },
  );
  const config = readConfig(env);
  expect(rows.map(([name]) => name).sort()).toEqual([...names].sort());

  const defaults = new Map(rows.map(([name, fallback]) => [name, fallback?.replaceAll('`', '')]));
  expect(defaults.get('PORT')).toBe(String(config.port));
  expect(defaults.get('HOST')).toBe(config.host);
  expect(defaults.get('PUBLIC_URL')?.replace('PORT', '3000')).toBe(config.publicUrl);
  expect(defaults.get('ROLES')).toBe([...config.roles].join(','));
  expect(defaults.get('SERVICE_FEE_PERCENT')).toBe(String(config.serviceFeePercent));
  expect(defaults.get('CURRENCY')).toBe(config.currency);
  expect(defaults.get('WEBHOOKS_ALLOW_PRIVATE')).toBe(String(config.webhooksAllowPrivate));
  expect(defaults.get('REGISTRATIONS_PER_HOUR')).toBe(String(config.registrationsPerHour));
  expect(defaults.get('WEBHOOKS_PER_ACCOUNT')).toBe(String(config.webhooksPerAccount));
  expect(defaults.get('API_KEYS_PER_ACCOUNT')).toBe(String(config.apiKeysPerAccount));
  expect(defaults.get('CLIENTS_PER_ACCOUNT')).toBe(String(config.clientsPerAccount));
  expect(defaults.get('SPACES_PER_COMMUNITY')).toBe(String(config.spacesPerCommunity));
  expect(defaults.get('CONSOLE_WRITES_PER_MINUTE')).toBe(String(config.consoleWritesPerMinute));
  expect(defaults.get('DEMO')).toMatch(new RegExp(`^${config.demo}, `));
  expect(defaults.get('LOG_LEVEL')).toBe(config.logLevel);
  const duration = (name: string) => Temporal.Duration.from(defaults.get(name) ?? '').total('milliseconds');
  expect(duration('RETIRE_AFTER')).toBe(config.retireAfterMs);
  expect(duration('TEST_DELIVERY_INTERVAL')).toBe(config.testDeliveryIntervalMs);
  expect(duration('DRAIN')).toBe(config.drainMs);
});

const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** Runs the pasted commands of a page, with `npx venue` as the command line on this `DATA_DIR`. @returns their output */
async function paste(code: string, { url, dataDir, folder }: { url: string; dataDir: string; folder: string }) {
  const venue = `DATA_DIR='${dataDir}' '${process.execPath}' '${join(ROOT, 'src/cli.js')}'`;
  const pasted = code
    .replaceAll('http://localhost:3000', url)
    .replaceAll('npx venue', venue)
    .replaceAll(/\bnode -p/g, `'${process.execPath}' -p`);
  const shell = spawn('sh', ['-eu', '-c', pasted], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(shell, 'close');
  expect(shell.exitCode).toBe(0);
  return output;
}

/** A running service, and a folder with its data in `./data`. */
async function startInFolder() {
  const dataDir = temporaryDataDir();
  const { url } = await startServiceProcess(dataDir);
  const folder = temporaryDataDir();
  symlinkSync(dataDir, join(folder, 'data'));
  return { url, dataDir, folder };
}

describe.skipIf(!hasCurl)('the commands of a page work when pasted (needs curl)', () => {
  test('README, a first booking', async () => {
    const at = await startInFolder();
    const [first = '', approval = ''] = blocks('README.md', 'A first booking', 'sh');
    const booking = /curl[^#]*-d[^#]*/.exec(first)?.[0] ?? '';
    const output = await paste(`${first}\n${booking}`, at);

    // Four JSON values, one directly after another.
    const answers = JSON.parse(`[${output.replace(/([}\]])\s*(?=[{[]"|\[\{)/g, '$1,')}]`);
    expect(answers).toMatchObject([
      { timeSlots: expect.arrayContaining([{ hour: 10, label: '10:00 AM', isAvailable: true }]) },
      { status: 'Pending', startHour: 10, totalPrice: 483 },
      [{ status: 'Pending', startHour: 10 }],
      { error: 'SlotUnavailable', details: expect.any(String) },
    ]);

    const id = String(answers[1].id);
    const approved = await paste(`${approval.replace(/\bID\b/, id)}\nnpx venue booking show ${id}`, at);
    expect(approved).toMatch(new RegExp(`\\b${id}\\b[^]*Pending[^]*\\b${id}\\b[^]*Approved`));
  });

  test('docs/guides/oauth.md, a service client', async () => {
    const [code = ''] = blocks('docs/guides/oauth.md', 'Connect a service without a user', 'sh');
    const bookings = JSON.parse(await paste(code, await startInFolder()));
    expect(bookings).toContainEqual(expect.objectContaining({ spaceName: 'Harbour Hall' }));
  });
});

test('the receiver in docs/guides/webhooks.md accepts signed requests and refuses all others', async () => {
  const folder = temporaryDataDir();
  const port = await freePort();
  const [code = ''] = blocks('docs/guides/webhooks.md', 'Verify the signature', 'js');
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

const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: ROOT })];

/** The help of a `venue` command; of `venue` itself if there is no such command. */
async function helpOf(command: readonly string[]): Promise<string> {
  const printed: string[] = [];
  await runVenue([...command, '--help'], { out: (text) => printed.push(text), err: () => {} });
  return printed.join('');
}

test('every command line in the docs uses an existing command and existing options', async () => {
  const COMMAND = /(?:^|`|npx |service )venue ([a-z][^`#>|\n]*)/gm;
  const lines = PAGES.flatMap((page) =>
    [...read(page).matchAll(COMMAND)].map(([, line = '']) => ({ page, words: line.trim().split(/\s+/) })),
  );
  expect(lines.length).toBeGreaterThan(30);
  const wrong: string[] = [];
  for (const { page, words } of lines) {
    const [group = '', command = ''] = words;
    const inGroup = await helpOf([group, command]);
    const help = inGroup.startsWith(`Usage: venue ${group} ${command} `) ? inGroup : await helpOf([group]);
    const isGroup = help.includes('\nCommands:\n');
    const options = words.filter((word) => /^--[a-z]/.test(word));
    if (!help.startsWith(`Usage: venue ${group} `) || (isGroup && command !== '' && !command.startsWith('-')))
      wrong.push(`${page}: venue ${words.join(' ')}`);
    for (const option of options)
      if (!help.includes(option)) wrong.push(`${page}: venue ${words.join(' ')}: no ${option}`);
  }
  expect(wrong).toEqual([]);
});

test('every npm script in the docs exists', () => {
  const scripts = new Set(Object.keys(manifest.scripts));
  const named = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\bnpm run (?:--silent )?([a-z:]+)/g)].map(([, script = '']) => `${page}: ${script}`),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((each) => !scripts.has(each.split(': ')[1] ?? ''))).toEqual([]);
});
