import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inProcessWith } from '../cli/in-process.ts';

const root = mkdtempSync(join(tmpdir(), 'venue-hostile-'));
const backup = join(root, 'backup');
let made = 0;
const freshFolder = (): string => {
  made += 1;
  mkdirSync(join(root, `${made}`));
  return join(root, `${made}`);
};

beforeAll(async () => {
  const DATA_DIR = freshFolder();
  await inProcessWith({ DATA_DIR }, 'brand', 'add', '--name', 'Acme');
  await inProcessWith({ DATA_DIR }, 'api-key', 'issue', '--brand', '1');
  expect(await inProcessWith({ DATA_DIR }, 'backup', backup, '--with-secret-key')).toMatchObject({ code: 0 });
});
afterAll(() => rmSync(root, { recursive: true }));

type Lines = { file: string; lines: number; bytes: number; sha256: string };
type Manifest = { records: (Lines & { collection: string })[]; log: Lines[]; [field: string]: unknown };

/** A copy of the backup, altered by an attacker. */
function altered() {
  const dir = join(freshFolder(), 'backup');
  cpSync(backup, dir, { recursive: true });
  const manifest: Manifest = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'));
  const [records, log] = [manifest.records.find(({ lines }) => lines > 0), manifest.log[0]];
  if (records === undefined || log === undefined) throw new Error('The backup is empty');
  const at = (name: string) => join(dir, name);
  const write = (found: unknown = manifest) => writeFileSync(at('manifest.json'), JSON.stringify(found));
  return {
    ...{ dir, manifest, records, log, at, write },
    /** Replaces a file and corrects its digest. */
    rewrite(of: Lines, change: (lines: string[]) => readonly string[]): void {
      const lines = change(readFileSync(at(of.file), 'utf8').trimEnd().split('\n'));
      const text = lines.map((line) => `${line}\n`).join('');
      writeFileSync(at(of.file), text);
      const sha256 = createHash('sha256').update(text).digest('hex');
      Object.assign(of, { lines: lines.length, bytes: Buffer.byteLength(text), sha256 });
      write();
    },
  };
}
type Altered = ReturnType<typeof altered>;

/** Sets a field of a part of the manifest. */
const field =
  (part: (of: Altered) => object, name: string, value: unknown) =>
  (of: Altered): void => {
    Object.assign(part(of), { [name]: value });
    of.write();
  };
const whole = ({ manifest }: Altered) => manifest;
const ofRecords = ({ records }: Altered) => records;
const ofLog = ({ log }: Altered) => log;

/** Moves a file of the log elsewhere, and tells where in the manifest. */
const movedTo =
  (path: (of: Altered) => string) =>
  (of: Altered): void => {
    const to = path(of);
    renameSync(of.at(of.log.file), resolve(of.dir, to));
    of.log.file = to;
    of.write();
  };

/** Renames a collection, with its file. */
const renamed =
  (collection: string) =>
  (of: Altered): void => {
    const file = `records/${collection}.ndjson`;
    renameSync(of.at(of.records.file), of.at(file));
    Object.assign(of.records, { collection, file });
    of.write();
  };

/** Moves a part of the backup elsewhere and leaves a link to it. */
const linked =
  (name: (of: Altered) => string) =>
  (of: Altered): void => {
    const elsewhere = join(freshFolder(), 'elsewhere');
    renameSync(of.at(name(of)), elsewhere);
    symlinkSync(elsewhere, of.at(name(of)));
  };

test.each<[string, (of: Altered) => void]>([
  ['a manifest that is cut off', ({ at }) => truncateSync(at('manifest.json'), 100)],
  ['a manifest that is a list', ({ write }) => write([])],
  ['a manifest that is a text', ({ write }) => write('venue-backup-1')],
  [
    'a manifest that is a folder',
    ({ at }) => {
      rmSync(at('manifest.json'));
      mkdirSync(at('manifest.json'));
    },
  ],
  ['a manifest that is a link', linked(() => 'manifest.json')],
  ['records that are a number', field(whole, 'records', 5)],
  ['records that are an object', field(whole, 'records', { length: 1 })],
  ['a log of nothing', field(whole, 'log', [null])],
  ['groups that are a list', field(whole, 'groups', ['x'])],
  ['groups at no position', field(whole, 'groups', { 'webhook-deliveries-ReviewPosted': -1 })],
  ['engines that are missing', field(whole, 'engines', undefined)],
  ['other engines than this store', field(whole, 'engines', { log: 'embedded', documents: 'MongoDB' })],
  ['engines with control characters', field(whole, 'engines', { log: '\u001b[2J', documents: 'embedded' })],
  ['a log id that is an object', field(whole, 'logId', {})],
  ['a probe that is a number', field(whole, 'probe', 7)],
  ['a time that is none', field(whole, 'startedAt', '\u001b[2J')],
  ['a collection that is SQL', field(ofRecords, 'collection', 'x"; DROP TABLE "users')],
  ['a collection that restores mark a store with', field(ofRecords, 'collection', 'storeIdentity')],
  ['a file outside the folder', movedTo(() => '../000001.ndjson')],
  ['a file outside the folder, through a folder in it', movedTo(() => 'log/../../000001.ndjson')],
  ['a file with an absolute path', movedTo(({ dir }) => join(dir, '..', 'log'))],
  ['a file that is a number', field(ofLog, 'file', 1)],
  ['a collection twice', ({ manifest, records, write }) => write({ ...manifest, records: [records, records] })],
  ['a negative number of lines', field(ofRecords, 'lines', -1)],
  ['more lines than there are', field(ofLog, 'lines', Number.MAX_SAFE_INTEGER)],
  ['a number of lines beyond all integers', field(ofLog, 'lines', 1e300)],
  ['more bytes than there are', field(ofLog, 'bytes', Number.MAX_SAFE_INTEGER)],
  ['a digest that is a list', field(ofLog, 'sha256', ['x'])],
  ['a file that is missing', ({ at, log }) => rmSync(at(log.file))],
  ['a file that is cut off', ({ at, log }) => truncateSync(at(log.file), 10)],
  ['a file that is a link', linked(({ log }) => log.file)],
  ['a folder that is a link', linked(() => 'records')],
  ['a secret key that is a link', linked(() => 'secret.key')],
  ['a secret key that is missing', ({ at }) => rmSync(at('secret.key'))],
  ['another secret key', ({ at }) => writeFileSync(at('secret.key'), Buffer.alloc(32, 1).toString('base64'))],
  ['a huge secret key', ({ at }) => truncateSync(at('secret.key'), 2 ** 32)],
  ['a line that is null', ({ rewrite, records }) => rewrite(records, (lines) => [...lines, 'null'])],
  ['a record without a document', ({ rewrite, records }) => rewrite(records, () => ['{"key":"x"}'])],
  ['a record with a list', ({ rewrite, records }) => rewrite(records, () => ['{"key":"x","document":[]}'])],
  ['a line that is not JSON', ({ rewrite, log }) => rewrite(log, (lines) => [...lines, '\u001b[2J'])],
  ['an event without data', ({ rewrite, log }) => rewrite(log, ([line = '']) => [line.replace('"data"', '"dada"')])],
  ['an event at no position', ({ rewrite, log }) => rewrite(log, ([line = '']) => [line.replace(/"0+1"/, '"9"')])],
  [
    'an event with a revision between',
    ({ rewrite, log }) => rewrite(log, ([line = '']) => [line.replace('"revision":0', '"revision":0.5')]),
  ],
  [
    'a gap between revisions',
    ({ rewrite, log }) => rewrite(log, (lines) => lines.map((line) => line.replace('"revision":0', '"revision":1'))),
  ],
  [
    'an event twice',
    ({ rewrite, log }) =>
      rewrite(log, (lines) => [
        ...lines,
        (lines.at(-1) ?? '').replace(/"position":"\d+"/, '"position":"0000000000000999"'),
      ]),
  ],
  [
    'a stream of the engine',
    ({ rewrite, log }) => rewrite(log, ([line = '', ...rest]) => [line.replace('"stream":"', '"stream":"$'), ...rest]),
  ],
  [
    'a stream with control characters',
    ({ rewrite, log }) =>
      rewrite(log, ([line = '', ...rest]) => [line.replace('"stream":"', '"stream":"\\u0085'), ...rest]),
  ],
  [
    'positions of another engine',
    ({ rewrite, log }) =>
      rewrite(log, (lines) =>
        lines.map((line) => line.replace(/"position":"\d{4}(\d+)"/, '"position":"00000000$1-00000000$1"')),
      ),
  ],
  [
    'an id in upper case',
    ({ rewrite, log }) =>
      rewrite(log, (lines) =>
        lines.map((line) => line.replace(/"id":"[^"]+"/, (id) => `"id":${id.slice(5).toUpperCase()}`)),
      ),
  ],
  ['a record twice', ({ rewrite, records }) => rewrite(records, ([line = '']) => [line, line])],
  ['a table of SQLite', renamed('sqlite_master')],
  ['the collection __proto__', renamed('__proto__')],
  ['events out of order', ({ rewrite, log }) => rewrite(log, (lines) => lines.toReversed())],
])('a backup with %s is refused in one line, and nothing is touched', async (_, alter) => {
  const of = altered();
  alter(of);
  const DATA_DIR = freshFolder();
  const { code, stdout, stderr } = await inProcessWith({ DATA_DIR }, 'restore', of.dir);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^ValidationError: \P{Cc}+\n$/u);
  expect(stderr.length).toBeLessThan(1_000);
  expect(readdirSync(DATA_DIR)).toEqual([]);
});

test('restores a secret key that only its owner can read, even if others could read it in the backup', async () => {
  const { dir, at } = altered();
  chmodSync(at('secret.key'), 0o644);
  const DATA_DIR = join(freshFolder(), 'new');
  expect(await inProcessWith({ DATA_DIR }, 'restore', dir)).toMatchObject({ code: 0 });
  expect(statSync(join(DATA_DIR, 'secret.key')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(DATA_DIR, 'secret.key'), 'utf8')).toBe(readFileSync(at('secret.key'), 'utf8'));
  expect(existsSync(join(DATA_DIR, 'events.db'))).toBe(true);
});
