import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { isBusy } from '../../src/sqlite/busy.ts';
import { checkFile } from '../../src/sqlite/check-file.ts';
import { DataVersion } from '../../src/sqlite/data-version.ts';
import { openDatabase, transaction } from '../../src/sqlite/database.ts';
import { sqliteFaults } from './faults.ts';

let folder: string;
let path: string;
const opened: DatabaseSync[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-sqlite-'));
  path = join(folder, 'some.sqlite');
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const database of opened.splice(0)) if (database.isOpen) database.close();
  await rm(folder, { recursive: true });
});

async function open(): Promise<DatabaseSync> {
  const database = await openDatabase({ path, what: 'test file', repair: 'Make a new one.' });
  opened.push(database);
  return database;
}
/** Two connections to a file with one table, as two processes would have. */
async function openTwo(): Promise<readonly [DatabaseSync, DatabaseSync]> {
  const [one, other] = [await open(), await open()];
  one.exec('CREATE TABLE notes (text TEXT UNIQUE) STRICT');
  return [one, other];
}
const add = (database: DatabaseSync, text: string) => database.prepare('INSERT INTO notes VALUES (?)').run(text);
const notes = (database: DatabaseSync) => database.prepare('SELECT text FROM notes ORDER BY text').all();
const pragma = (database: DatabaseSync, name: string) =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

describe('openDatabase', () => {
  test('creates a private file in WAL mode', async () => {
    const database = await open();
    expect(pragma(database, 'journal_mode')).toBe('wal');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('names the file that cannot be opened', async () => {
    await expect(openDatabase({ path: folder, what: 'test file', repair: 'Make a new one.' })).rejects.toThrow(
      `The test file ${folder} cannot be opened: unable to open database file`,
    );
  });

  test('leaves a file that fails the check unchanged', async () => {
    await writeFile(path, '', { mode: 0o644 });
    const check = () => {
      throw new Error('not ours');
    };
    await expect(openDatabase({ path, what: 'test file', repair: 'Make a new one.', check })).rejects.toThrow(
      'not ours',
    );
    const { size, mode } = await stat(path);
    expect([size, mode & 0o777]).toEqual([0, 0o644]);
  });
});

describe('transaction', () => {
  test('commits everything or nothing, and rejects with the error of the callback', async () => {
    const [one, other] = await openTwo();
    const broken = () => {
      add(one, 'a');
      throw new Error('cannot');
    };
    await expect(transaction(one, 'durable', broken)).rejects.toThrow('cannot');
    expect(notes(other)).toEqual([]);
    expect(await transaction(one, 'durable', () => add(one, 'b').changes)).toBe(1);
    expect(notes(other)).toEqual([{ text: 'b' }]);
  });

  test('syncs to disk only when it is durable, even on the same connection', async () => {
    const [one] = await openTwo();
    const FULL = 2;
    const NORMAL = 1;
    expect(await transaction(one, 'lazy', () => pragma(one, 'synchronous'))).toBe(NORMAL);
    expect(await transaction(one, 'durable', () => pragma(one, 'synchronous'))).toBe(FULL);
    expect(await transaction(one, 'lazy', () => pragma(one, 'synchronous'))).toBe(NORMAL);
  });

  test('waits for another connection without blocking the process', async () => {
    const [one, other] = await openTwo();
    other.exec('BEGIN IMMEDIATE');
    let written = false;
    const writing = transaction(one, 'lazy', () => add(one, 'a')).then(() => {
      written = true;
    });
    for (let turns = 0; turns < 200; turns++) await nextTurn();
    expect(written).toBe(false);
    add(other, 'b');
    other.exec('COMMIT');
    await writing;
    expect(notes(other)).toEqual([{ text: 'a' }, { text: 'b' }]);
  });

  test('gives up when another connection never releases the lock', async () => {
    const [one, other] = await openTwo();
    other.exec('BEGIN IMMEDIATE');
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 4_000;
      return now;
    });
    const error = await transaction(one, 'lazy', () => add(one, 'a')).catch((reason: unknown) => reason);
    expect(isBusy(error)).toBe(true);
    other.exec('ROLLBACK');
    await transaction(one, 'lazy', () => add(one, 'a'));
    expect(notes(other)).toEqual([{ text: 'a' }]);
  });

  test('does not mistake a constraint violation for a locked database', async () => {
    const [one] = await openTwo();
    add(one, 'a');
    const error = await transaction(one, 'lazy', () => add(one, 'a')).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining('UNIQUE') });
    expect([isBusy(error), isBusy(new Error('busy')), isBusy('busy')]).toEqual([false, false, false]);
  });
});

describe('a disk that refuses writes', () => {
  test('that is read-only is named', async () => {
    const [one, other] = await openTwo();
    // Answers as SQLite does where a file or its disk may not be written.
    one.exec('PRAGMA query_only = ON');
    const refused = transaction(one, 'durable', () => add(one, 'a'));
    await expect(refused).rejects.toThrow(`The disk of the test file ${path} is read-only`);
    await expect(refused).rejects.toBeInstanceOf(Unavailable);
    expect(notes(other)).toEqual([]);
  });

  test('whose writes fail is named, and whether they were made is not known', async () => {
    const [one] = await openTwo();
    const faults = sqliteFaults();
    onTestFinished(() => faults.restore());
    faults.arm(1, false);
    const refused = transaction(one, 'durable', () => add(one, 'a'));
    await expect(refused).rejects.toMatchObject({
      message: `The disk of the test file ${path} fails`,
      publicMessage: 'The disk fails, and whether this was done is not known',
    });
  });
});

describe('checkFile', () => {
  const file = () => ({ path, what: 'test file', repair: 'Make a new one.' });

  test('names a file with a page that no read has met', async () => {
    const database = await open();
    database.exec('CREATE TABLE notes (text TEXT NOT NULL) STRICT');
    for (let n = 0; n < 500; n += 1) add(database, `note ${n}`);
    expect(() => checkFile(file())).not.toThrow();
    database.close();
    const content = await readFile(path);
    await writeFile(path, content.fill(0, content.length - 2_048));
    expect(() => checkFile(file())).toThrow(/^The test file .* is damaged \(.+\)\. Make a new one\.$/);
  });

  test('leaves a file alone that has been removed', () => {
    expect(() => checkFile(file())).not.toThrow();
    expect(existsSync(path)).toBe(false);
  });
});

test('data version changes only with commits by other connections', async () => {
  const [one, other] = await openTwo();
  const version = new DataVersion(other);
  expect(version.hasChanged()).toBe(false);
  await transaction(other, 'lazy', () => add(other, 'a'));
  expect(version.hasChanged()).toBe(false);
  await transaction(one, 'lazy', () => add(one, 'b'));
  expect(version.hasChanged()).toBe(true);
  expect(version.hasChanged()).toBe(false);
});
