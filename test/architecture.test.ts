import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** One forbidden import for each folder and each file next to them: static, type-only, re-exported and dynamic in turn. */
const WRONG_ARROWS: Readonly<Record<string, string>> = {
  'src/domain': `import { projections } from '../../projections/index.ts';`,
  projections: `import type { Clock } from '../src/runtime/clock.ts';`,
  'src/contract/schemas': `import type { WebhookDocument } from '../../../projections/webhooks.ts';`,
  'src/contract': `export * from '../queries/queries.ts';`,
  'src/runtime': `import type { Account } from '../domain/account.ts';`,
  'src/event-loop': `import type { Documents } from '../document-store/document-store.ts';`,
  'src/text': `import type { Clock } from '../runtime/clock.ts';`,
  'src/http': `import type { Page } from '../html/html.ts';`,
  'src/sqlite': `import type { Documents } from '../document-store/document-store.ts';`,
  'src/secrets': `export const users = () => import('../auth/users.ts');`,
  'src/outbound': `import { createWebhooks } from '../webhooks/webhooks.ts';`,
  'src/html': `import { type Visit } from '../console/parts/visit.ts';`,
  'src/event-store': `export const open = async () => (await import('./sqlite/event-store.ts')).openSqliteEventStore;`,
  'src/event-store/sqlite': `import { openEventStoreDb } from '../eventstoredb/event-store.ts';`,
  'src/event-store/eventstoredb': `import type { DocumentStore } from '../../document-store/document-store.ts';`,
  'src/document-store': `export type { EventStore } from '../event-store/event-store.ts';`,
  'src/document-store/sqlite': `import type {} from '../../event-store/sqlite/event-store.ts';`,
  'src/document-store/mongodb': `import { openSqliteDocumentStore } from '../sqlite/document-store.ts';`,
  'src/leases': `import type { ReadModels } from '../read-models/read-models.ts';`,
  'src/quotas': `import type { Commands } from '../commands/commands.ts';`,
  'src/store-identity': `import type { Config } from '../config.ts';`,
  'src/record-repair': `export type { Config } from '../config.ts';`,
  'src/audit': `import type { Projector } from '../projector/projector.ts';`,
  'src/read-models': `import type { Projector } from '../projector/projector.ts';`,
  'src/credentials': `import type { Projector } from '../projector/projector.ts';`,
  'src/personal-data': `import type { ReadModels } from '../read-models/read-models.ts';`,
  'src/projector': `import { openSqliteDocumentStore } from '../document-store/sqlite/document-store.ts';`,
  'src/photos': `import type { Commands } from '../commands/commands.ts';`,
  'src/commands': `import type { Caller } from '../auth/caller.ts';`,
  'src/queries': `import type { Commands } from '../commands/commands.ts';`,
  'src/threads': `import type { ClockWatch } from '../scheduler/clock-watch.ts';`,
  'src/auth': `import { createRevocation } from '../authorization-server/revocation.ts';`,
  'src/authorization-server': `export const console = () => import('../console/console.ts');`,
  'src/outbox': `import type { DeliveryDocument } from '../webhooks/delivery.ts';`,
  'src/webhooks': `import type { Caller } from '../auth/caller.ts';`,
  'src/mail': `import type { DeliveryDocument } from '../webhooks/delivery.ts';`,
  'src/transfer': `import type { DeliveryQueue } from '../webhooks/queue.ts';`,
  'src/scheduler': `import { createQueries } from '../queries/queries.ts';`,
  'src/description': `import type { Queries } from '../queries/queries.ts';`,
  'src/api': `import { createWebhooks } from '../webhooks/webhooks.ts';`,
  'src/monitoring': `import type { Core } from '../core.ts';`,
  'src/mcp': `import type {} from '../api/access.ts';`,
  'src/console/parts': `import type { DeliveryDocument } from '../../webhooks/delivery.ts';`,
  'src/console/sessions': `import type { LiveFeed } from '../live/live.ts';`,
  'src/console/public': `import type { Sessions } from '../sessions/sessions.ts';`,
  'src/console/links': `import type { Sessions } from '../sessions/sessions.ts';`,
  'src/console/live': `import type { Visit } from '../parts/visit.ts';`,
  'src/console/spaces': `import { historyPages } from '../your-account/history.ts';`,
  'src/console/people': `import { findPages } from '../find/find.ts';`,
  'src/console/webhooks': `import { findPages } from '../find/find.ts';`,
  'src/console/connections': `import { findPages } from '../find/find.ts';`,
  'src/console/your-account': `import { findPages } from '../find/find.ts';`,
  'src/console/find': `import { bookingPages } from '../bookings/bookings.ts';`,
  'src/console/requests': `import { bookingPages } from '../bookings/bookings.ts';`,
  'src/console/bookings': `import { calendarPages } from '../calendar/calendar.ts';`,
  'src/console/overview': `import { calendarPages } from '../calendar/calendar.ts';`,
  'src/console/customers': `import { calendarPages } from '../calendar/calendar.ts';`,
  'src/console/calendar': `import { findPages } from '../find/find.ts';`,
  'src/console': `import type { DeliveryDocument } from '../webhooks/delivery.ts';`,
  'src/demo': `export const app = () => import('../app.ts');`,
  'src/cli': `import type { ReadModels } from '../read-models/read-models.ts';`,
  'src/settings': `import type { Config } from '../config.ts';`,
  'src/config.ts': `import type { Core } from './app.ts';`,
  'src/engines.ts': `import type { Core } from './app.ts';`,
  'src/release.ts': `import type { Config } from './config.ts';`,
  'src/logger.ts': `import type { Core } from './app.ts';`,
  'src/base.ts': `import type { Core } from './core.ts';`,
  'src/people.ts': `import type { Core } from './core.ts';`,
  'src/core.ts': `import { createApp } from './app.ts';`,
  'src/app.ts': `import { runVenue } from './cli/venue.ts';`,
  'src/serve.ts': `import type { Commands } from './commands/commands.ts';`,
  'src/main.js': `import('./cli/venue.ts');`,
  'src/cli.js': `import('./app.ts');`,
};

/** Other things that the check refuses, by rule. */
const OTHER_VIOLATIONS = {
  'folder-without-a-rule': {
    'src/new-folder/stranger.ts': `import type { Account } from '../domain/account.ts';\nexport type A = Account;`,
    'projections/new-folder/stranger.ts': `import type { Account } from '../../src/domain/account.ts';\nexport type B = Account;`,
  },
  'queries-imports': { 'src/queries/asks-stranger.ts': `import type { A } from '../new-folder/stranger.ts';` },
  'domain-imports': {
    'src/domain/reads-files.ts': `import { readFile } from 'node:fs/promises';`,
    'src/domain/draws-schemas.ts': `import { Type } from 'typebox';`,
  },
  'runtime-imports': { 'src/runtime/tested.ts': `import { eventually } from '../../test/eventually.ts';` },
  'decoders-in-their-own-process': {
    'src/photos/decodes-here.ts': `import sharp from 'sharp';\nexport const decode = sharp;`,
  },
  'amounts-for-their-readers': {
    'src/console/requests/prices-for-all.ts': `import { amount } from '../../html/amounts.ts';\nexport const price = amount;`,
    'src/mail/prices-for-all.ts': `export { amount } from '../html/amounts.ts';`,
  },
  'engines-behind-their-ports': {
    'src/auth/users-in-mongodb.ts': `import type { MongoClient } from 'mongodb';`,
    'src/runtime/clock-in-sqlite.ts': `import { DatabaseSync } from 'node:sqlite';`,
  },
  'schemas-where-they-are-used': {
    'src/webhooks/checks-payloads.ts': `import { WebhookPayloads } from '../contract/schemas/webhook-payload.ts';`,
    'src/webhooks/draws-schemas.ts': `import { Type } from 'typebox';`,
  },
  'no-cycles': {
    'src/html/egg.ts': `export type { Hen } from './hen.ts';`,
  },
  'installed-to-run': { 'src/html/tested.ts': `import { test } from 'fast-check';` },
  'no-missing-file': { 'src/api/leads-nowhere.ts': `import type { Gone } from '../gone/gone.ts';` },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Entry points are JavaScript. */
const isFile = (name: string): boolean => /\.[jt]s$/.test(name);

const bin = join(import.meta.dirname, '../node_modules/.bin');
const root = join(import.meta.dirname, '..');
type Arrows = Readonly<Record<string, readonly string[] | 'anything above'>>;
type Rules = { readonly MAY_IMPORT: Arrows; readonly WHOLE: readonly string[] };
const { MAY_IMPORT, WHOLE }: Rules = await import(join(root, '.dependency-cruiser.mjs'));

let overlay: string;
beforeAll(() => {
  overlay = mkdtempSync(join(tmpdir(), 'venue-arrows-'));
  for (const each of ['src', 'projections', 'package.json', 'test/eventually.ts'])
    cpSync(join(root, each), join(overlay, each), { recursive: true });
  for (const name of ['fast-check', 'mongodb', 'sharp', 'typebox']) {
    const folder = join(overlay, 'node_modules', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), `{ "name": "${name}", "main": "index.js" }`);
    writeFileSync(join(folder, 'index.js'), '');
  }
});
afterAll(() => rmSync(overlay, { recursive: true }));

function write(file: string, text: string, flag: 'a' | 'wx' = 'wx'): void {
  mkdirSync(dirname(join(overlay, file)), { recursive: true });
  writeFileSync(join(overlay, file), `${text}\n`, { flag });
}

/** Runs the dependency rules of `npm run check` on the overlay. */
const check = () =>
  spawnSync(
    join(bin, 'depcruise'),
    ['src', 'projections', '--config', join(root, '.dependency-cruiser.mjs'), '--output-type', 'err-long'],
    { cwd: overlay, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } },
  );

/** `rule: file` for every violation. */
const refusalsIn = (report: string) =>
  new Set([...report.matchAll(/^ *error (\S+): (\S+)/gm)].map(([, rule, file]) => `${rule}: ${file}`));

const foldersOf = (folder: string): string[] => {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && isFile(entry.name));
  // Browser scripts import nothing.
  if (folder === 'src/html/assets') return [];
  if (WHOLE.some((place) => folder === `src/${place}`)) return [folder];
  const inside = entries.filter((entry) => entry.isDirectory()).flatMap(({ name }) => foldersOf(`${folder}/${name}`));
  if (folder === 'src') return [...files.map(({ name }) => `src/${name}`), ...inside];
  return files.length === 0 ? inside : [folder, ...inside];
};

/** The lines of a folder that the plugins of biome refuse. */
function refusedByBiome(folder: string): readonly string[] {
  for (const file of [
    'biome.json',
    'html.grit',
    'imports.grit',
    'inline.grit',
    'sentences.grit',
    'skipped.grit',
    'spread.grit',
  ])
    cpSync(join(root, file), join(overlay, file));
  const { status, stderr } = spawnSync(join(bin, 'biome'), ['lint', folder], { cwd: overlay, encoding: 'utf8' });
  expect(status).not.toBe(0);
  return [...stderr.matchAll(/([\w-]+\.ts:\d+):\d+ plugin/g)].map(([, place = '']) => place).sort();
}

test('there is a forbidden import for every folder', () => {
  expect(foldersOf('src').filter((folder) => WRONG_ARROWS[folder] === undefined)).toEqual([]);
});

const arrows = Object.entries(MAY_IMPORT).flatMap(([place, allowed]) =>
  typeof allowed === 'string' ? [] : [{ place, allowed }],
);

/** What the table leaves out, because most folders may import it. */
const UNLISTED = ['domain', 'runtime', 'event-loop', 'text', 'http'];

test('the table of src/README.md says what each folder may import', () => {
  const page = readFileSync(join(root, 'src/README.md'), 'utf8');
  const told = new Map(
    [...page.matchAll(/^\| `(?:\.\.\/)?([\w-]+)\/` \|.*\| ([^|]*) \|$/gm)].map(([, folder = '', imports = '']) => [
      folder,
      imports
        .replace(/;.*/, '')
        .replace('stores', 'event-store, document-store')
        .split(', ')
        .filter((each) => each !== 'nothing')
        .sort(),
    ]),
  );
  const checked = arrows
    .filter(({ place }) => !place.includes('/') && !isFile(place))
    .map(({ place, allowed }) => {
      const folders = new Set(allowed.map((each) => each.replace(/\/.*/, '')));
      return [place, [...folders].filter((each) => each !== place && !UNLISTED.includes(each)).sort()] as const;
    });
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(checked));
});

test('no import between folders is allowed without being used', () => {
  const placeOf = (file: string) => {
    const short = file.replace(/^src\//, '');
    const whole = WHOLE.find((place) => short.startsWith(`${place}/`));
    return MAY_IMPORT[short] === undefined ? (whole ?? dirname(short)) : short;
  };
  const used = new Set<string>();
  for (const folder of ['src', 'projections'])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, name);
      if (!isFile(file)) continue;
      for (const [, module = ''] of readFileSync(join(root, file), 'utf8').matchAll(
        /(?:from|import\(?)\s*'(\.[^']+)'/g,
      )) {
        const imported = join(dirname(file), module);
        used.add(`${placeOf(file)} → ${placeOf(imported)}`).add(`${placeOf(file)} → ${imported.replace(/^src\//, '')}`);
      }
    }
  const allowed = arrows.flatMap(({ place, allowed }) => allowed.map((each) => `${place} → ${each}`));
  expect(allowed.filter((each) => !used.has(each))).toEqual([]);
});

test('the check refuses a forbidden import from each folder, names the rule and says what is allowed', () => {
  const expected = new Set<string>();
  for (const [folder, text] of Object.entries(WRONG_ARROWS)) {
    const file = isFile(folder) ? folder : `${folder}/wrong-arrow.ts`;
    write(file, text, 'a');
    expected.add(`${folder.replace(/^src\//, '')}-imports: ${file}`);
  }
  for (const [rule, files] of Object.entries(OTHER_VIOLATIONS))
    for (const [file, text] of Object.entries(files)) {
      write(file, text);
      expected.add(`${rule}: ${file}`);
    }
  write('src/html/hen.ts', `import type {} from './egg.ts';\nexport type Hen = object;`);
  const { status, stdout } = check();
  expect(status).not.toBe(0);
  expect([...expected].filter((each) => !refusalsIn(stdout).has(each))).toEqual([]);
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'error contract-imports: src/contract/wrong-arrow.ts → src/queries/queries.ts contract may import only: contract/schemas, domain, projections.',
  );
});

test('a disguised import between folders is refused where it stands', () => {
  const hidden = [
    `export type Users = import('../auth/users.ts').Users;`,
    `export const load = (name: string) => import(name);`,
    `export const users = import('../' + 'auth/users.ts');`,
    `export const worker = new Worker(new URL('../auth/users.ts', import.meta.url));`,
    `export const file = import.meta.resolve('../auth/users.ts');`,
  ];
  hidden.forEach((text, index) => {
    write(`src/secrets/hidden-${index}.ts`, text);
  });
  expect(refusedByBiome('src/secrets')).toEqual(hidden.map((_, index) => `hidden-${index}.ts:1`));
});

test('a spread literal is refused where it stands', () => {
  write('src/sqlite/inline.ts', ['const a = { ...{ b: 1 }, c: 2 };', 'const d = { ...a };'].join('\n'));
  expect(refusedByBiome('src/sqlite')).toEqual(['inline.ts:1']);
});

test('a call that spreads a list of any length over the stack is refused where it stands', () => {
  const refused = [
    'list.push(...other);',
    'deep.list().push(1, ...other.map(String), 2);',
    'list?.unshift(...other);',
    'Math.max(0, ...other);',
  ];
  write('src/outbound/spread.ts', [...refused, 'list.push([...other]);', 'call(...other);'].join('\n'));
  expect(refusedByBiome('src/outbound')).toEqual(refused.map((_, index) => `spread.ts:${index + 1}`));
});

test('a line of HTML that is longer than 140 characters is refused, wherever it stands in its template', () => {
  const line = (length: number) => '<p>'.padEnd(length, 'text ');
  const short = `html\`\n${line(140)}\n\${list.map((one) => html\`\n${line(140)}\n\`)}\`;`;
  write('src/leases/lines.ts', [short, `html\`\n${line(141)}\`;`].join('\n'));
  expect(refusedByBiome('src/leases')).toEqual(['lines.ts:6']);
});

test('code that decides by a sentence for people is refused where it stands', () => {
  const refused = [
    `if (outcome.details === OTHER.details) again();`,
    `if ('It has ended.' !== refusal.details) again();`,
    `const [field] = refusal.details.split(' ', 1);`,
    `const isOver = /^It has ended/.test(refusal.details);`,
    `const [, day] = /^week (.+):/.exec(refusal.details) ?? [];`,
    `const isFull = error.message.includes('no space left');`,
    `if (error.message === 'busy') again();`,
  ];
  const allowed = [
    `if (read.details === undefined) again();`,
    `const text = refusal.details;`,
    `if (refusal.reason === 'KeyReused') again();`,
  ];
  write('src/outbox/sentences.ts', [...refused, ...allowed].join('\n'));
  expect(refusedByBiome('src/outbox')).toEqual(refused.map((_, index) => `sentences.ts:${index + 1}`));
});

test('a test that is skipped without naming a tool is refused where it stands', () => {
  const refused = [
    `test.skipIf(process.platform === 'linux')('a', () => {});`,
    `describe.runIf(isLinux)('b', () => {});`,
    `it.skip('c', () => {});`,
    `test('d', (context) => context.skip());`,
    `test('e', ({ skip }) => skip('no git'));`,
  ];
  const allowed = [
    `test.skipIf(lacks(GIT))('f', () => {});`,
    `test.skipIf(is && lacks(GIT)).each([1])('g', () => {});`,
  ];
  write('test/skipped/skipped.ts', [...refused, ...allowed].join('\n'));
  expect(refusedByBiome('test/skipped')).toEqual(refused.map((_, index) => `skipped.ts:${index + 1}`));
});
