import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase, transaction } from '../../src/sqlite/database.ts';
import { checkpointFile, checkpointWal, flushWal, type WalStep } from '../../src/sqlite/wal.ts';

test('a file that has been removed is not created again for its checkpoint', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-wal-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const removed = join(folder, 'removed #1.sqlite');
  expect(() => checkpointFile(removed)).toThrow('unable to open database file');
  expect(existsSync(removed)).toBe(false);
});

test('at most some five megabytes of lazy commits wait for the disk, and none of durable ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-wal-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const steps: { readonly step: WalStep; readonly bytes: number }[] = [];
  const path = join(folder, 'lazy.sqlite');
  const database = await openDatabase({
    what: 'event log',
    repair: 'none',
    path,
    walSteps: (path, step) => steps.push({ step, bytes: statSync(`${path}-wal`).size }),
  });
  onTestFinished(() => database.close());
  database.exec('CREATE TABLE texts (text TEXT NOT NULL)');
  const insert = database.prepare('INSERT INTO texts VALUES (?)');
  const text = 'x'.repeat(10_000);
  for (let n = 0; n < 400; n += 1) await transaction(database, 'durable', () => insert.run(text));
  expect(steps).toEqual([]);

  const written = statSync(`${path}-wal`).size;
  for (let n = 0; n < 400; n += 1) await transaction(database, 'lazy', () => insert.run(text));
  expect(new Set(steps.map(({ step }) => step))).toEqual(new Set(['flush']));
  const at = [written, ...steps.map(({ bytes }) => bytes), statSync(`${path}-wal`).size];
  expect(Math.max(...at.slice(1).map((bytes, index) => bytes - (at[index] ?? 0)))).toBeLessThan(5 * 2 ** 20);
  flushWal(path);
  expect(() => flushWal(join(folder, 'removed.sqlite'))).toThrow('ENOENT');
});

/** Three connections to a database with a table, whose WAL only grows until it is checkpointed. */
async function openTexts() {
  const folder = await mkdtemp(join(tmpdir(), 'venue-wal-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const open = () => {
    const database = new DatabaseSync(join(folder, 'texts.sqlite'));
    onTestFinished(() => database.close());
    return database;
  };
  const [writing, reading, checkpointing] = [open(), open(), open()];
  writing.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE texts (text TEXT NOT NULL)');
  return { writing, reading, checkpointing };
}

test('the WAL starts again with a checkpoint although others have written meanwhile', async () => {
  const { writing, reading, checkpointing } = await openTexts();
  const insert = writing.prepare('INSERT INTO texts VALUES (?)');
  const write = () => insert.run('x'.repeat(10_000));
  for (let n = 0; n < 100; n += 1) write();
  // What is written after this read has begun cannot be moved before it ends, just as what is written during a checkpoint.
  reading.exec('BEGIN; SELECT count(*) FROM texts');
  write();

  const exec = checkpointing.exec.bind(checkpointing);
  vi.spyOn(checkpointing, 'exec').mockImplementation((sql) => {
    if (sql.includes('RESTART')) reading.exec('COMMIT');
    exec(sql);
  });
  checkpointWal(checkpointing);
  write();
  const { log } = writing.prepare('PRAGMA wal_checkpoint(NOOP)').get() ?? {};
  expect(Number(log)).toBeLessThan(10);
  expect(writing.prepare('SELECT count(*) AS texts FROM texts').get()).toEqual({ texts: 102 });
});

test('others do not wait for a checkpoint while a reader keeps much in the WAL', async () => {
  const { writing, reading, checkpointing } = await openTexts();
  reading.exec('BEGIN; SELECT count(*) FROM texts');
  const insert = writing.prepare('INSERT INTO texts VALUES (?)');
  for (let n = 0; n < 50; n += 1) insert.run('x'.repeat(100_000));

  const exec = vi.spyOn(checkpointing, 'exec');
  checkpointWal(checkpointing);
  expect(exec.mock.calls.flat().filter((sql) => sql.includes('RESTART'))).toEqual([]);
  reading.exec('COMMIT');
  checkpointWal(checkpointing);
  expect(exec.mock.calls.flat().filter((sql) => sql.includes('RESTART'))).toHaveLength(1);
});
