import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/sqlite/database.ts';
import { openForeignCommits } from '../../src/sqlite/foreign-commits.ts';

let folder: string;
let path: string;
let foreign: DatabaseSync;
const opened: { readonly database: DatabaseSync; close(): void }[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-foreign-'));
  path = join(folder, 'some.sqlite');
  foreign = new DatabaseSync(path);
  foreign.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT) STRICT');
});
afterEach(async () => {
  foreign.close();
  for (const { database } of opened) database.close();
  await rm(folder, { recursive: true });
  for (const { close } of opened.splice(0)) close();
});

/** A connection of this process. */
async function connect() {
  const database = await openDatabase({ path, what: 'test file', mend: 'Make a new one.' });
  const commits = openForeignCommits(database, path);
  opened.push({ database, close: commits.close });

  /** @returns whether there has been a foreign commit */
  function write(text: string | undefined, outcome: 'COMMIT' | 'ROLLBACK' = 'COMMIT'): boolean {
    database.exec('BEGIN IMMEDIATE');
    const happened = commits.happened();
    const accounted = commits.account();
    if (text !== undefined) insertInto(database, text);
    database.exec(outcome);
    if (outcome === 'COMMIT') accounted(text !== undefined);
    return happened;
  }
  return { ...commits, database, write };
}

const insertInto = (database: DatabaseSync, text: string) => database.prepare('INSERT INTO notes VALUES (?)').run(text);

test('what connections of this process account for is not foreign to the others', async () => {
  const [writer, reader] = [await connect(), await connect()];
  writer.write('before');
  reader.happened();

  writer.write('one');
  writer.write(undefined);
  writer.write('two');

  expect(reader.happened()).toBe(false);
  expect(writer.happened()).toBe(false);
});

test('a commit that nobody accounts for is, once', async () => {
  const [writer, reader] = [await connect(), await connect()];
  writer.write('before');
  reader.happened();

  insertInto(foreign, 'foreign');

  expect([reader.happened(), reader.happened()]).toEqual([true, false]);
  expect([writer.happened(), writer.happened()]).toEqual([true, false]);
});

test.each<[string, (own: Awaited<ReturnType<typeof connect>>) => void]>([
  [
    'just before one of this process',
    (own) => {
      insertInto(foreign, 'foreign');
      own.write('own');
    },
  ],
  [
    'just after one of this process',
    (own) => {
      own.write('own');
      insertInto(foreign, 'foreign');
    },
  ],
  [
    'after a transaction of this process that wrote nothing',
    (own) => {
      own.write(undefined);
      insertInto(foreign, 'foreign');
    },
  ],
  [
    'after a transaction of this process that was rolled back',
    (own) => {
      own.write('own', 'ROLLBACK');
      insertInto(foreign, 'foreign');
    },
  ],
  [
    'between two of this process, on different connections',
    (own) => {
      own.write('own');
      insertInto(foreign, 'foreign');
      opened.at(-1)?.database.exec('BEGIN IMMEDIATE; COMMIT');
      own.write('own');
    },
  ],
])('a foreign commit is noticed %s', async (_, commit) => {
  const [writer, reader] = [await connect(), await connect()];
  writer.write('before');
  reader.happened();

  commit(writer);

  expect(reader.happened()).toBe(true);
});

test('of any sequence of commits, each reader notices every foreign one', async () => {
  const own = await Promise.all([connect(), connect(), connect()]);
  for (const connection of own) connection.happened();
  /** What each has not been told of yet. */
  const unseen = new Set<number>();
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const dice = ['own', 'own', 'own', 'nothing', 'rolled back', 'foreign', 'look', 'look', 'look'] as const;
  for (let i = 0; i < 1_000; i += 1) {
    const at = random(own.length);
    const [connection, what] = [own[at], dice[random(dice.length)]];
    if (connection === undefined) continue;
    if (what === 'foreign') {
      insertInto(foreign, 'foreign');
      for (const each of own.keys()) unseen.add(each);
    } else {
      const text = what === 'nothing' ? undefined : 'own';
      const happened =
        what === 'look'
          ? connection.happened()
          : connection.write(text, what === 'rolled back' ? 'ROLLBACK' : 'COMMIT');
      if (unseen.delete(at)) expect(happened, `step ${i}`).toBe(true);
    }
  }
});

test('what was known of a file says nothing about another one in its place', async () => {
  const before = await connect();
  before.write('one');
  before.write('two');
  before.database.close();
  foreign.close();
  for (const file of await readdir(folder)) await rm(join(folder, file));
  before.close();
  opened.splice(0);

  foreign = new DatabaseSync(path);
  foreign.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT) STRICT');
  const reader = await connect();
  reader.happened();
  for (let i = 0; i < 6; i += 1) {
    insertInto(foreign, 'foreign');
    expect(reader.happened()).toBe(true);
  }
});

test('keeps no removed file open', async () => {
  const connection = await connect();
  connection.database.close();
  foreign.close();
  for (const file of await readdir(folder)) await rm(join(folder, file));
  connection.close();
  opened.splice(0);

  const fds = await readdir('/proc/self/fd');
  const targets = await Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  expect(targets.filter((target) => target.includes(folder))).toEqual([]);
  foreign = new DatabaseSync(path);
});
