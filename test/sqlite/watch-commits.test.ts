import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/sqlite/database.ts';
import { watchCommits } from '../../src/sqlite/watch-commits.ts';
import { eventually } from '../eventually.ts';

/** Commits durably after each line that it reads. */
const WRITER = `
  import { createInterface } from 'node:readline';
  import { DatabaseSync } from 'node:sqlite';
  const database = new DatabaseSync(process.argv[1]);
  database.exec('PRAGMA synchronous = FULL');
  for await (const _ of createInterface({ input: process.stdin })) {
    database.exec('INSERT INTO lines DEFAULT VALUES');
    console.log('committed');
  }
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'watch-commits-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('reports commits of another process without waiting for the timer, also after a rest', async () => {
  const path = join(folder, 'lines.db');
  const database = await openDatabase({ path, what: 'database', repair: '' });
  database.exec('CREATE TABLE lines (id INTEGER PRIMARY KEY)');
  const count = database.prepare('SELECT count(*) AS count FROM lines');
  let seen = 0;
  const stop = watchCommits(
    database,
    () => {
      seen = Number(count.get()?.count);
    },
    { idleMs: 3_600_000 },
  );
  const writer = spawn(process.execPath, ['--input-type=module', '-e', WRITER, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const committed = createInterface({ input: writer.stdout })[Symbol.asyncIterator]();
    for (let written = 1; written <= 3; written += 1) {
      writer.stdin.write('\n');
      await committed.next();
      await eventually(() => expect(seen).toBe(written));
      // Longer than the WAL counts as written to.
      await pause(1_200);
    }
  } finally {
    stop();
    writer.kill('SIGKILL');
    database.close();
  }
});

test('reports commits of other connections where the system reports no writes', async () => {
  const watch = vi.spyOn(fs, 'watch').mockImplementation(() => {
    throw new Error('ENOSYS: function not implemented, watch');
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    watch.mockRestore();
    syncBuiltinESMExports();
  });
  const path = join(folder, 'unwatched.db');
  const database = await openDatabase({ path, what: 'database', repair: '' });
  const other = new DatabaseSync(path);
  const reported = Promise.withResolvers<void>();
  const stop = watchCommits(database, reported.resolve, { idleMs: 3_600_000 });
  try {
    other.exec('CREATE TABLE lines (id INTEGER PRIMARY KEY)');
    await reported.promise;
    expect(watch).toHaveBeenCalledOnce();
  } finally {
    stop();
    other.close();
    database.close();
  }
});
