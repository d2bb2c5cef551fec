import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase, transaction } from '../../src/sqlite/database.ts';
import { checkpointFile, flushWal, type WalStep } from '../../src/sqlite/wal.ts';

test('a file that has been removed is not created again for its checkpoint', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-wal-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const removed = join(folder, 'removed #1.sqlite');
  expect(() => checkpointFile(removed)).toThrow('unable to open database file');
  expect(existsSync(removed)).toBe(false);
});

test('at most some two megabytes of lazy commits wait for the disk, and none of durable ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-wal-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const steps: { readonly step: WalStep; readonly bytes: number }[] = [];
  const path = join(folder, 'lazy.sqlite');
  const database = await openDatabase({
    ...{ what: 'event log', repair: 'none', path },
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
  expect(Math.max(...at.slice(1).map((bytes, index) => bytes - (at[index] ?? 0)))).toBeLessThan(2 * 2 ** 20);
  flushWal(path);
  expect(() => flushWal(join(folder, 'removed.sqlite'))).toThrow('ENOENT');
});
