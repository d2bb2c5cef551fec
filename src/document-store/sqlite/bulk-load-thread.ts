/** The thread that writes a bulk load over a single connection (`bulk-load.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { answer } from '../../runtime/calls.ts';
import { openDatabase } from '../../sqlite/database.ts';
import type { LoadCalls, Setup } from './bulk-load.ts';
import { prepareCheckpoints } from './checkpoints.ts';

const { name, collection, upsert: upsertSql }: Setup = workerData.data;
const database = await openDatabase(name);
// Reading checkpointed pages from the system's cache (mmap) speeds up indexing by a quarter; checkpoints are frequent, so that few pages
// are left to move before the indexing. Sorts that exceed the cache use a temporary file, so that memory does not grow with the
// collection. This thread may block on the lock, because no other work runs in it.
database.exec('PRAGMA temp_store = FILE; PRAGMA cache_size = -16384; PRAGMA mmap_size = 268435456');
const { page_size } = database.prepare('PRAGMA page_size').get() ?? {};
database.exec(`PRAGMA wal_autocheckpoint = ${Math.round(16_384_000 / Number(page_size))}`);
database.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 10000');
const upsert = database.prepare(upsertSql);
const checkpoints = prepareCheckpoints(database);

if (parentPort === null) throw new Error('This file must run in a worker thread');
answer<LoadCalls>(parentPort, {
  async write({ rows, isLast, checkpoint }) {
    return orRollBack(() => {
      if (!database.isTransaction) database.exec('BEGIN IMMEDIATE');
      for (const row of rows) upsert.run(...row);
      if (!isLast) return true;
      const isNext = checkpoint === undefined || checkpoints.advance(collection, checkpoint);
      database.exec(isNext ? 'COMMIT' : 'ROLLBACK');
      return isNext;
    });
  },
  async run(sql) {
    orRollBack(() => database.exec(sql));
    return undefined;
  },
});

/** Rolls back the transaction if `work` throws. */
function orRollBack<R>(work: () => R): R {
  try {
    return work();
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
