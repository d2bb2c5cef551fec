/** The thread that writes a bulk load: a single connection, which may take its time (`bulk-load.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { answer } from '../../runtime/calls.ts';
import { openDatabase } from '../../sqlite/database.ts';
import type { LoadCalls, Setup } from './bulk-load.ts';
import { NOTE_WRITTEN } from './own-files.ts';

const { name, upsert: upsertSql }: Setup = workerData.data;
const database = await openDatabase(name);
// Few checkpoints: each writes once more what changes between them. It may wait for its lock, nobody waits for this thread.
database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 16000');
database.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 10000');
const upsert = database.prepare(upsertSql);
const note = database.prepare(NOTE_WRITTEN);

if (parentPort === null) throw new Error('To be run in a thread');
answer<LoadCalls>(parentPort, {
  async write({ rows, lastWritten }) {
    orRollBack(() => {
      if (!database.isTransaction) database.exec('BEGIN IMMEDIATE');
      for (const row of rows) upsert.run(...row);
      if (lastWritten === undefined) return;
      note.run(lastWritten);
      database.exec('COMMIT');
    });
    return undefined;
  },
  async run(sql) {
    orRollBack(() => database.exec(sql));
    return undefined;
  },
});

/** Rolls back what `work` belongs to if it throws. */
function orRollBack(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
