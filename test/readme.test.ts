import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { runVenue } from '../src/cli/venue.ts';
import { readConfig } from '../src/config.ts';
import { temporaryDataDir } from './service/service-process.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

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
  expect(defaults.get('PHOTO_BYTES_PER_COMMUNITY')).toBe(String(config.photoBytesPerCommunity));
  expect(defaults.get('CONSOLE_WRITES_PER_MINUTE')).toBe(String(config.consoleWritesPerMinute));
  expect(defaults.get('DEMO')).toMatch(new RegExp(`^${config.demo}, `));
  expect(defaults.get('LOG_LEVEL')).toBe(config.logLevel);
  const duration = (name: string) => Temporal.Duration.from(defaults.get(name) ?? '').total('milliseconds');
  expect(duration('RETIRE_AFTER')).toBe(config.retireAfterMs);
  expect(duration('TEST_DELIVERY_INTERVAL')).toBe(config.testDeliveryIntervalMs);
  expect(duration('DRAIN')).toBe(config.drainMs);
});

const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: ROOT })];

/** The help of a `venue` command; of `venue` itself if there is no such command. */
async function helpOf(command: readonly string[]): Promise<string> {
  const printed: string[] = [];
  await runVenue([...command, '--help'], { out: (text) => printed.push(text), err: () => {} });
  return printed.join('');
}

test('every command line in the docs uses an existing command and existing options', async () => {
  const COMMAND = /(?:^|`|npx |service )venue ([a-z][^`#>|)\n]*)/gm;
  const lines = PAGES.flatMap((page) =>
    [...read(page).matchAll(COMMAND)].map(([, line = '']) => ({ page, words: line.trim().split(/\s+/) })),
  );
  expect(lines.length).toBeGreaterThan(30);
  const wrong: string[] = [];
  for (const { page, words } of lines) {
    const [group = ''] = words;
    let help = await helpOf([group]);
    let depth = 1;
    while (help.includes('\nCommands:\n') && depth < words.length) {
      const inGroup = await helpOf(words.slice(0, depth + 1));
      if (!inGroup.startsWith(`Usage: venue ${words.slice(0, depth + 1).join(' ')} `)) break;
      [help, depth] = [inGroup, depth + 1];
    }
    const next = words[depth] ?? '';
    const isGroup = help.includes('\nCommands:\n');
    const options = words.filter((word) => /^--[a-z]/.test(word));
    if (!help.startsWith(`Usage: venue ${group} `) || (isGroup && next !== '' && !next.startsWith('-')))
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
