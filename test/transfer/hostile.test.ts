import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalForm } from '../../src/audit/portable-event.ts';
import { inProcessWith } from '../cli/in-process.ts';
import { asExport } from './stores.ts';

const root = mkdtempSync(join(tmpdir(), 'venue-hostile-'));
const backup = join(root, 'backup.ndjson');
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

/** A copy of the backup, for an attacker to alter. */
function copied() {
  const file = join(freshFolder(), 'backup.ndjson');
  cpSync(backup, file);
  cpSync(`${backup}.key`, `${file}.key`);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, -1);
  return {
    file,
    key: `${file}.key`,
    lines,
    write: (altered: readonly string[]) => writeFileSync(file, asExport(altered)),
  };
}
type Copied = ReturnType<typeof copied>;

/** Sets a field of the header, and corrects the digest. */
const inHeader =
  (name: string, value: unknown) =>
  ({ lines: [header = '', ...rest], write }: Copied): void =>
    write([canonicalForm({ export: { ...JSON.parse(header).export, [name]: value } }), ...rest]);
/** Replaces a text in the first line that has it, and corrects the digest. */
const replaced =
  (text: string | RegExp, by: string) =>
  ({ lines, write }: Copied): void => {
    const at = lines.findIndex((line) => new RegExp(text).test(line));
    write(lines.with(at, (lines[at] ?? '').replace(text, by)));
  };

test.each<[string, (of: Copied) => void]>([
  ['nothing in it', ({ file }) => truncateSync(file, 0)],
  ['a header that is cut off', ({ file }) => truncateSync(file, 100)],
  ['an end that is cut off', ({ file }) => truncateSync(file, statSync(file).size - 30)],
  ['a changed byte', ({ file }) => writeFileSync(file, readFileSync(file, 'utf8').replace('Acme', 'Acne'))],
  ['bytes that are no text', ({ file }) => writeFileSync(file, Buffer.alloc(10_000, 0xff))],
  ['more after its end', ({ file }) => writeFileSync(file, 'null\n', { flag: 'a' })],
  ['a header that is a list', ({ lines, write }) => write(['[]', ...lines.slice(1)])],
  ['another format', inHeader('format', 'venue-export-0')],
  ['another store format', inHeader('storeFormat', '\u001b[2J')],
  ['the purpose to move', inHeader('purpose', 'move')],
  ['an unknown purpose', inHeader('purpose', '\u001b[2J')],
  ['a log id that is an object', inHeader('logId', {})],
  ['a log id with control characters', inHeader('logId', '\u001b[2J')],
  ['a probe that is a number', inHeader('probe', 7)],
  ['a part of the log', inHeader('from', '2026-01-01T00:00:00.000Z')],
  [
    'no records',
    ({ lines: [header = '', ...rest], write }) => write([header.replace(/"probe":"[^"]+",/, ''), ...rest]),
  ],
  ['a line that is null', ({ lines, file }) => writeFileSync(file, [...lines, 'null', ''].join('\n'))],
  ['an event without data', replaced('"data":', '"dada":')],
  ['a revision between', replaced('"revision":0', '"revision":0.5')],
  ['a gap between revisions', replaced('"revision":0', '"revision":1')],
  ['an event twice', ({ lines, write }) => write(lines.toSpliced(2, 0, lines[1] ?? ''))],
  ['a stream of the engine', replaced('"stream":"', '"stream":"$')],
  ['a stream with control characters', replaced('"stream":"', '"stream":"\\u0085')],
  [
    'an id in upper case',
    ({ lines, write }) =>
      write(
        lines.with(
          1,
          (lines[1] ?? '').replace(/"id":"[^"]+"/, (id) => `"id":${id.slice(5).toUpperCase()}`),
        ),
      ),
  ],
  ['a record without a document', replaced(/"document":\{/, '"paper":{')],
  ['a record twice', ({ lines, write }) => write([...lines, lines.at(-1) ?? ''])],
  ['a table of SQLite', replaced('"collection":"apiKeyIndex"', '"collection":"sqlite_master"')],
  ['the collection __proto__', replaced('"collection":"apiKeyIndex"', '"collection":"__proto__"')],
  ['the mark of a store', replaced('"collection":"apiKeyIndex"', '"collection":"storeIdentity"')],
  ['lines out of order', ({ lines: [header = '', ...rest], write }) => write([header, ...rest.toReversed()])],
  [
    'a secret key that is a link',
    ({ key }) => {
      cpSync(key, `${key}.real`);
      rmSync(key);
      symlinkSync(`${key}.real`, key);
    },
  ],
  ['another secret key', ({ key }) => writeFileSync(key, Buffer.alloc(32, 1).toString('base64'))],
  ['a huge secret key', ({ key }) => truncateSync(key, 2 ** 32)],
  [
    'a folder in its place',
    ({ file }) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
])('a backup with %s is refused in one line, and nothing is touched', async (_, alter) => {
  const of = copied();
  alter(of);
  const DATA_DIR = freshFolder();
  const { code, stdout, stderr } = await inProcessWith({ DATA_DIR }, 'restore', of.file);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^ValidationError: \P{Cc}+\n$/u);
  expect(stderr.length).toBeLessThan(1_000);
  expect(readdirSync(DATA_DIR)).toEqual([]);
});

test('restores a secret key that only its owner can read, even if others could read it beside the backup', async () => {
  const { file, key } = copied();
  chmodSync(key, 0o644);
  const DATA_DIR = join(freshFolder(), 'new');
  expect(await inProcessWith({ DATA_DIR }, 'restore', file)).toMatchObject({ code: 0 });
  expect(statSync(join(DATA_DIR, 'secret.key')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(DATA_DIR, 'secret.key'), 'utf8')).toBe(readFileSync(key, 'utf8'));
  expect(existsSync(join(DATA_DIR, 'events.db'))).toBe(true);
});
