/** The thread that writes a bulk load: a single connection, which may take its time (`bulk-load.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../sqlite/database.ts';
import type { Answer, Order, Setup } from './bulk-load.ts';
import { NOTE_WRITTEN } from './own-files.ts';
import { valuesOf } from './table.ts';

const { name, upsert: upsertSql, fields } = workerData as Setup;
const database = await openDatabase(name);
// Few checkpoints: each writes once more what changes between them. It may wait for its lock, nobody waits for this thread.
database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 16000');
database.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 10000');
const upsert = database.prepare(upsertSql);
const note = database.prepare(NOTE_WRITTEN);

const answer = (message: Answer): void => parentPort?.postMessage(message);

parentPort?.on('message', ({ id, rows, lastWritten, sql }: Order) => {
  try {
    if (sql !== undefined) database.exec(sql);
    if (rows !== undefined) {
      if (!database.isTransaction) database.exec('BEGIN IMMEDIATE');
      const lines = rows.split('\n');
      for (let line = 0; line + 1 < lines.length; line += 2) {
        const [key, position] = JSON.parse(lines[line] ?? '');
        const json = lines[line + 1] ?? '';
        const document = JSON.parse(json) ?? undefined;
        upsert.run(key, position, document === undefined ? null : json, ...valuesOf(document, fields));
      }
    }
    if (lastWritten !== undefined) {
      note.run(lastWritten);
      database.exec('COMMIT');
    }
    answer({ id });
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    answer({ id, error });
  }
});
