import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { isBusy } from '../../src/sqlite/busy.ts';
import { type Durability, openDatabase, transaction } from '../../src/sqlite/database.ts';
import { GroupCommit } from '../../src/sqlite/group-commit.ts';

const range = (count: number) => Array.from({ length: count }, (_, n) => n);

describe.each<Durability>(['durable', 'lazy'])('group commit, %s', (durability) => {
  let folder: string;
  let database: DatabaseSync;
  /** Competes with `database` for the write lock, as another process would. */
  let other: DatabaseSync;
  let commits: GroupCommit;
  /** The number of writes in each committed transaction. */
  let groups: number[];
  let size: number;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'venue-commits-'));
    const path = join(folder, 'some.sqlite');
    database = await openDatabase({ path, what: 'test file', repair: 'Make a new one.' });
    other = await openDatabase({ path, what: 'test file', repair: 'Make a new one.' });
    database.exec('CREATE TABLE numbers (n INTEGER UNIQUE) STRICT');
    groups = [];
    commits = new GroupCommit({
      durability,
      transaction: async (work) => {
        await transaction(database, durability, () => {
          size = 0;
          work();
        });
        groups.push(size);
      },
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await commits.settled();
    database.close();
    other.close();
    await rm(folder, { recursive: true });
  });

  const write = (n: number) =>
    commits.write(() => {
      size += 1;
      database.prepare('INSERT INTO numbers VALUES (?)').run(n);
      return n;
    });
  const stored = () =>
    other
      .prepare('SELECT n FROM numbers ORDER BY rowid')
      .all()
      .map(({ n }) => Number(n));

  test('waiting writes share a transaction, in order, each with its own result', async () => {
    expect(await Promise.all(range(50).map(write))).toEqual(range(50));
    expect(groups).toEqual([50]);
    expect(stored()).toEqual(range(50));
  });

  test('no write resolves before it is stored', async () => {
    const seen: boolean[] = [];
    await Promise.all(range(20).map((n) => write(n).then(() => seen.push(stored().includes(n)))));
    expect(seen).toEqual(range(20).map(() => true));
  });

  test('a write that arrives while others wait for the lock joins their transaction', async () => {
    other.exec('BEGIN IMMEDIATE');
    const first = write(0);
    for (let turns = 0; turns < 50; turns++) await nextTurn();
    const second = write(1);
    other.exec('ROLLBACK');
    await Promise.all([first, second]);
    expect(groups).toEqual([2]);
  });

  test('a failing write does not affect the others', async () => {
    await write(7);
    const outcomes = await Promise.allSettled([write(1), write(7), write(2), write(2), write(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(stored()).toEqual([7, 1, 2, 3]);
    expect(groups).toEqual([1, 1, 1, 1]);
  });

  test('while the writes of a failed group run one by one, other work and later writes proceed', async () => {
    let turns = 0;
    let trying = true;
    const others = (async () => {
      while (trying) {
        await nextTurn();
        turns += 1;
      }
    })();
    const failing = Promise.allSettled(range(20).map(() => write(1)));
    await nextTurn();
    const later = write(2);
    expect((await failing).filter(({ status }) => status === 'rejected')).toHaveLength(19);
    await later;
    trying = false;
    await others;
    expect(turns).toBeGreaterThan(15);
    expect(stored()).toEqual([1, 2]);
  });

  test('continuous writes do not starve other work', async () => {
    let writing = true;
    let n = 0;
    const writer = async () => {
      while (writing) await write(n++);
    };
    const writers = range(8).map(writer);
    for (let turns = 0; turns < 30; turns++) await nextTurn();
    writing = false;
    await Promise.all(writers);
    expect(stored()).toEqual(range(n));
  });

  test('when another process never releases the lock, all waiting writes fail together, and the next write tries again', async () => {
    other.exec('BEGIN IMMEDIATE');
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 4_000;
      return now;
    });
    const outcomes = await Promise.allSettled(range(5).map(write));
    for (const outcome of outcomes) expect(outcome.status === 'rejected' && isBusy(outcome.reason)).toBe(true);
    vi.restoreAllMocks();
    other.exec('ROLLBACK');
    expect(await write(9)).toBe(9);
    expect(stored()).toEqual([9]);
  });

  test('settled() resolves once everything is written', async () => {
    const writing = Promise.all(range(10).map(write));
    await commits.settled();
    expect(stored()).toEqual(range(10));
    await writing;
    await commits.settled();
  });
});
