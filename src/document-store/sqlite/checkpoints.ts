import type { DatabaseSync } from 'node:sqlite';
import type { Checkpoint, NextCheckpoint } from '../document-store.ts';
import type { SqliteFile } from './file.ts';

/** No collection has this name: collection names contain no spaces. */
export const CHECKPOINTS = 'read model checkpoints';
const TABLE = `"${CHECKPOINTS}"`;

/** Creates the table with the checkpoints of the collections in a file, if it is missing. */
export async function createCheckpoints({ database, write }: Pick<SqliteFile, 'database' | 'write'>): Promise<void> {
  if (database.prepare('SELECT 1 FROM sqlite_master WHERE name = ?').get(CHECKPOINTS) !== undefined) return;
  const create = `CREATE TABLE IF NOT EXISTS ${TABLE} (collection TEXT PRIMARY KEY, position TEXT NOT NULL, events INTEGER NOT NULL) STRICT`;
  await write(() => database.exec(create));
}

export type Checkpoints = ReturnType<typeof prepareCheckpoints>;

/** The checkpoints of the collections in a file. They are written in the transaction of the documents they cover. */
export function prepareCheckpoints(database: DatabaseSync) {
  const select = database.prepare(`SELECT position, events FROM ${TABLE} WHERE collection = ?`);
  const upsert = database.prepare(
    // An update writes one page; a replacement would also write one of the index.
    `INSERT INTO ${TABLE} VALUES (?1, ?2, ?3) ON CONFLICT (collection) DO UPDATE SET position = ?2, events = ?3`,
  );
  const remove = database.prepare(`DELETE FROM ${TABLE} WHERE collection = ?`);

  function read(collection: string): Checkpoint | undefined {
    const row = select.get(collection);
    return row && { position: String(row.position), events: Number(row.events) };
  }

  return {
    read,

    /** Call within a transaction. @returns false, without writing, if the stored checkpoint is not at `after` */
    advance(collection: string, { position, events, after }: NextCheckpoint): boolean {
      if ((read(collection)?.position ?? '') !== after) return false;
      upsert.run(collection, position, events);
      return true;
    },

    /** Call within a transaction. */
    remove: (collection: string): void => void remove.run(collection),
  };
}
