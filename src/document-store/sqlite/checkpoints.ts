import type { DatabaseSync } from 'node:sqlite';
import type { Checkpoint, NextCheckpoint } from '../document-store.ts';
import type { SqliteFile } from './file.ts';

/** No collection has this name: collection names contain no spaces. */
export const CHECKPOINT = 'generation checkpoint';
const TABLE = `"${CHECKPOINT}"`;

/** Creates the table with the checkpoint of the generation in a file, if it is missing. */
export async function createCheckpoint({ database, write }: Pick<SqliteFile, 'database' | 'write'>): Promise<void> {
  const create = `CREATE TABLE IF NOT EXISTS ${TABLE}
    (id INTEGER PRIMARY KEY CHECK (id = 1), position TEXT NOT NULL, events INTEGER NOT NULL, failing TEXT NOT NULL) STRICT`;
  await write(() => database.exec(create));
}

export type CheckpointRow = ReturnType<typeof prepareCheckpoint>;

/** The checkpoint of the generation in a file. It is written in the transaction of the documents it covers. */
export function prepareCheckpoint(database: DatabaseSync) {
  const select = database.prepare(`SELECT position, events, failing FROM ${TABLE}`);
  const insert = database.prepare(`INSERT INTO ${TABLE} VALUES (1, ?, ?, ?)`);
  const update = database.prepare(`UPDATE ${TABLE} SET position = ?, events = ?, failing = ?`);

  function read(): Checkpoint | undefined {
    const row = select.get();
    if (row === undefined) return undefined;
    return { position: String(row.position), events: Number(row.events), failing: JSON.parse(String(row.failing)) };
  }

  return {
    read,

    /** Call within a transaction. @returns false, without writing, if the stored checkpoint is not at `after` */
    advance({ position, events, failing, after }: NextCheckpoint): boolean {
      const stored = read();
      if ((stored?.position ?? '') !== after) return false;
      (stored === undefined ? insert : update).run(position, events, JSON.stringify(failing));
      return true;
    },
  };
}
