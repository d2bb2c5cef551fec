import type { DatabaseSync } from 'node:sqlite';
import { loopTurn } from '../../runtime/loop-turn.ts';
import { DataVersion } from '../../sqlite/data-version.ts';
import { type Durability, openDatabase, transaction } from '../../sqlite/database.ts';
import type { FileName } from '../../sqlite/file-name.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';
import { createWriteCounts, openWriteCounts } from '../../sqlite/write-counts.ts';
import type { ChangedDocuments, Changes } from './changes.ts';

/** A SQLite database in WAL mode, shared by any number of processes on the machine. */
export type SqliteFile = {
  readonly database: DatabaseSync;
  /**
   * Runs `work` in a transaction that it may share with other writes (`GroupCommit.write`).
   * @param changed the documents that it changes, if other threads may have cached them
   */
  write<R>(work: () => R, changed?: ChangedDocuments): Promise<R>;
  /** Call before using a cached value: invalidates entries that other connections may have changed. */
  validate(): void;
  /** The cache of each collection, invalidated whenever it may be stale. */
  readonly caches: Map<string, CollectionCache>;
  isClosed(): boolean;
  close(): Promise<void>;
};

type CollectionCache = {
  forget(keys: readonly string[]): void;
  forgetAll(): void;
  /** Another connection has created, altered or dropped tables. */
  readTable(): void;
};

/** @param file.pageSize of a file that is created, in bytes. Default 4,096 */
export async function openSqliteFile(
  file: FileName & { readonly pageSize?: number },
  durability: Durability,
  changes: Changes,
): Promise<SqliteFile> {
  const database = await openDatabase(file);
  // Several threads open each file. They read the main file from the system's cache (mmap), so each needs its own page cache only
  // for pages in the WAL. Caching the whole WAL of 16 MiB would make bookings no faster, and the C library does not return that
  // memory to the system.
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -6144; PRAGMA mmap_size = 268435456');
  checkpointEvery16MiB(database);
  // Overwrite removed and replaced records, such as users and keys, in the file.
  if (durability === 'durable') database.exec('PRAGMA secure_delete = ON');
  await transaction(database, durability, () => createWriteCounts(database));

  const counts = openWriteCounts(database);
  const version = new DataVersion(database);
  const readSchemaVersion = database.prepare('PRAGMA schema_version');
  const caches: SqliteFile['caches'] = new Map();
  let known = counts.read();
  let schemaVersion = readSchemaVersion.get()?.schema_version;
  /** The turn of the event loop of the last check. A check costs as much as a read. */
  let checkedIn = -1;
  let closed = false;

  function validate(): void {
    const turn = loopTurn();
    if (checkedIn === turn) return;
    checkForCommits();
    checkedIn = turn;
  }

  /** Clears the caches if other connections may have changed documents without a message to this one. */
  function checkForCommits(): void {
    if (!version.hasChanged()) return;
    const now = counts.read();
    const schema = readSchemaVersion.get()?.schema_version;
    if (now.own !== known.own || now.others !== known.others || schema !== schemaVersion) forgetAll();
    known = now;
    if (schema === schemaVersion) return;
    schemaVersion = schema;
    for (const collection of caches.values()) collection.readTable();
  }

  function forgetAll(): void {
    for (const collection of caches.values()) collection.forgetAll();
  }

  // Another thread of this process announces its changes.
  const stopListening = changes.listen(file.path, ({ count, changed }) => {
    if (count === known.own + 1) known = { ...known, own: count };
    for (const { collection, keys } of changed) caches.get(collection)?.forget(keys);
  });

  /** The documents that the current transaction changes. */
  let changed: ChangedDocuments[] = [];
  const commits = new GroupCommit({ durability, transaction: commit });

  async function commit(work: () => void): Promise<void> {
    const run = () => {
      changed = [];
      // From here to the commit this connection holds the write lock, so the caches stay valid.
      checkForCommits();
      work();
      if (changed.length > 0) known = { ...known, own: counts.add() };
    };
    const committed = () => {
      if (changed.length > 0) changes.send({ path: file.path, count: known.own, changed });
    };
    try {
      await transaction(database, durability, run, committed);
    } catch (error) {
      forgetAll();
      throw error;
    }
  }

  return {
    database,
    validate,
    caches,
    write(work, documents) {
      if (closed) return Promise.reject(new Error('The document store is closed'));
      return commits.write(() => {
        if (documents !== undefined) changed.push(documents);
        return work();
      });
    },
    isClosed: () => closed,
    async close() {
      closed = true;
      stopListening();
      await commits.settled();
      if (database.isOpen) database.close();
    },
  };
}

/** Checkpoints the WAL every 16 MiB. SQLite counts pages, so the number depends on the page size. */
export function checkpointEvery16MiB(database: DatabaseSync): void {
  const pageSize = Number(database.prepare('PRAGMA page_size').get()?.page_size);
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.round(16_384_000 / pageSize)}`);
}
