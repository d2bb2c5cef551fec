import type { DatabaseSync } from 'node:sqlite';
import { requestBatch } from '../../runtime/arrivals.ts';
import { type Durability, openDatabase, transaction } from '../../sqlite/database.ts';
import type { FileName } from '../../sqlite/file-name.ts';
import { openForeignCommits } from '../../sqlite/foreign-commits.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';
import { type CollectionStamp, collectionStamp } from '../../sqlite/shared-counts.ts';
import { createWriteCounts, openWriteCounts } from '../../sqlite/write-counts.ts';

/** A SQLite database in WAL mode, shared by any number of processes on the machine. */
export type SqliteFile = {
  readonly database: DatabaseSync;
  /**
   * Runs `work` in a transaction that it may share with other writes (`GroupCommit.write`).
   * @param stamp of the collection, if it changes nothing but documents of one: the caches of other collections remain valid then
   */
  write<R>(work: () => R, stamp?: CollectionStamp): Promise<R>;
  /** Call before using a cached value: invalidates what other processes may have changed. What other threads have, the stamps tell. */
  validate(): void;
  /** Tells whether other threads of this process have written to a collection. */
  stampOf(collection: string): CollectionStamp;
  /** The cache of each collection, invalidated whenever it may be stale. */
  readonly caches: Map<string, CollectionCache>;
  isClosed(): boolean;
  close(): Promise<void>;
};

type CollectionCache = {
  invalidateDocuments(): void;
  /** Another connection has created, altered or dropped tables. */
  invalidateTable(): void;
};

/**
 * A check for commits by other processes costs as much as a read, so requests that arrived together share one, and so do other reads
 * for less time than a client needs to hear of a commit from another process and then ask this one. For those, a turn of the event
 * loop would be too long when it is busy.
 */
const CHECK_VALID_MS = 0.05;

/** @param file.pageSize of a file that is created, in bytes. Default 4,096 */
export async function openSqliteFile(
  file: FileName & { readonly pageSize?: number },
  durability: Durability,
): Promise<SqliteFile> {
  const database = await openDatabase(file);
  // Several threads have each file open. What is in the file itself they all read from the system's cache (mmap), so a cache of
  // their own is needed for the pages that are still in the WAL only. All of those, 16 MiB, would make no booking faster, and what
  // SQLite gives back the C library keeps.
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -6144; PRAGMA mmap_size = 268435456');
  checkpointEvery16MiB(database);
  // A record that was removed or replaced, such as a user or a key, leaves nothing behind in the file.
  if (durability === 'durable') database.exec('PRAGMA secure_delete = ON');

  await transaction(database, 'lazy', () => createWriteCounts(database));
  const counts = openWriteCounts(database);
  const foreign = openForeignCommits(database, file.path);
  const readSchemaVersion = database.prepare('PRAGMA schema_version');
  const readChanges = database.prepare('SELECT total_changes() AS changes');

  const caches: SqliteFile['caches'] = new Map();
  let closed = false;

  let schemaVersion = readSchemaVersion.get()?.schema_version;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checkedFor: number | undefined;

  function validate(): void {
    const batch = requestBatch();
    if (batch !== undefined && batch === checkedFor) return;
    const now = performance.now();
    if (now - checkedAt < CHECK_VALID_MS) return;
    checkForCommits();
    checkedAt = now;
    checkedFor = batch;
  }

  /** Invalidates the caches if another process has committed. */
  function checkForCommits(): void {
    if (!foreign.happened()) return;
    invalidateDocuments();
    const schema = readSchemaVersion.get()?.schema_version;
    if (schema === schemaVersion) return;
    schemaVersion = schema;
    for (const collection of caches.values()) collection.invalidateTable();
  }

  function invalidateDocuments(): void {
    for (const collection of caches.values()) collection.invalidateDocuments();
  }

  /** The collections that the current transaction writes to, and whether it changes anything else. */
  const written = new Set<CollectionStamp>();
  let changesOthers = false;

  const commits = new GroupCommit({ durability, transaction: commit });

  async function commit(work: () => void): Promise<void> {
    let account: ((hasWritten: boolean) => void) | undefined;
    let before: unknown;
    const run = () => {
      written.clear();
      changesOthers = false;
      // From here to the commit this connection holds the write lock, so the caches stay valid.
      checkForCommits();
      account = foreign.account();
      before = readChanges.get()?.changes;
      work();
      if (durability === 'lazy' && readChanges.get()?.changes !== before) counts.add();
    };
    const committed = () => {
      for (const stamp of written) stamp.note();
      if (!changesOthers) account?.(readChanges.get()?.changes !== before);
    };
    try {
      await transaction(database, durability, run, committed);
    } catch (error) {
      invalidateDocuments();
      throw error;
    }
  }

  return {
    database,
    validate,
    caches,
    stampOf: (collection) => collectionStamp(file.path, collection),
    write(work, stamp) {
      if (closed) return Promise.reject(new Error('The document store is closed'));
      return commits.write(() => {
        if (stamp === undefined) changesOthers = true;
        else written.add(stamp);
        return work();
      });
    },
    isClosed: () => closed,
    async close() {
      closed = true;
      await commits.settled();
      if (database.isOpen) database.close();
      foreign.close();
    },
  };
}

/** Moves what is in the WAL into the file whenever it is that long, however large pages are. */
export function checkpointEvery16MiB(database: DatabaseSync): void {
  const pageSize = Number(database.prepare('PRAGMA page_size').get()?.page_size);
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.round(16_384_000 / pageSize)}`);
}
