import type { DatabaseSync } from 'node:sqlite';
import { isKnownDead, type ProcessIdentity, THIS_PROCESS } from '../runtime/process-liveness.ts';

/** The name of the table. No collection can have it. */
const WRITE_COUNTS = '#write-counts';

const OWN = JSON.stringify(THIS_PROCESS);

/**
 * The number of transactions per process in a file, one row each. `PRAGMA data_version` only reveals that another connection has
 * committed; these rows show which process did.
 */
export type WriteCounts = {
  /** Counts a transaction of this process. Call inside it. @returns the new count */
  add(): number;
  /** The count of this process, and the sum over the others. */
  read(): { readonly own: number; readonly others: number };
};

export function openWriteCounts(database: DatabaseSync): WriteCounts {
  const add = database.prepare(
    `INSERT INTO "${WRITE_COUNTS}" (process, count) VALUES (?, 1) ON CONFLICT (process) DO UPDATE SET count = count + 1 RETURNING count`,
  );
  const read = database.prepare(
    `SELECT total(count) FILTER (WHERE process = ?1) AS own, total(count) FILTER (WHERE process <> ?1) AS others FROM "${WRITE_COUNTS}"`,
  );
  return {
    add: () => Number(add.get(OWN)?.count),
    read() {
      const { own, others } = read.get(OWN) ?? {};
      return { own: Number(own), others: Number(others) };
    },
  };
}

/**
 * Creates the table, counts this transaction, and removes the rows of processes that have ended. Call it inside the first
 * transaction after opening: once that is durable, so is all visible data.
 */
export function createWriteCounts(database: DatabaseSync): void {
  database.exec(
    `CREATE TABLE IF NOT EXISTS "${WRITE_COUNTS}" (process TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  );
  const remove = database.prepare(`DELETE FROM "${WRITE_COUNTS}" WHERE process = ?`);
  for (const { process } of database.prepare(`SELECT process FROM "${WRITE_COUNTS}"`).all()) {
    const identity: ProcessIdentity = JSON.parse(String(process));
    if (isKnownDead(identity)) remove.run(String(process));
  }
  openWriteCounts(database).add();
}
