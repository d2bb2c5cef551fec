import type { DatabaseSync } from 'node:sqlite';
import { DataVersion } from '../../sqlite/data-version.ts';
import { commitsTo, type Durability, openDatabase, transaction } from '../../sqlite/database.ts';
import type { FileName } from '../../sqlite/file-name.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';

/** A SQLite database in WAL mode, shared by any number of processes on the machine. */
export type SqliteFile = {
  readonly database: DatabaseSync;
  /** Runs `work` in a transaction that it may share with other writes (`GroupCommit.write`). */
  write<R>(work: () => R): Promise<R>;
  /** Call before using a cached value: invalidates what another connection may have changed. */
  validate(): void;
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
 * A check for commits by other connections costs as much as a read, so the reads of one request share one. It stays valid for
 * less time than a client needs to hear of a commit from another process and then ask this one. A turn of the event loop would
 * be too long when it is busy.
 */
const CHECK_VALID_MS = 0.05;

export async function openSqliteFile(file: FileName, durability: Durability): Promise<SqliteFile> {
  const database = await openDatabase(file);
  // Several threads have each file open. What is in the file itself they all read from the system's cache (mmap), so a cache of
  // their own is needed for the pages that are still in the WAL only: as many as make a checkpoint, 16 MiB.
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; PRAGMA mmap_size = 268435456');
  database.exec('PRAGMA wal_autocheckpoint = 4000');

  const version = new DataVersion(database);
  const readSchemaVersion = database.prepare('PRAGMA schema_version');

  const caches: SqliteFile['caches'] = new Map();
  let closed = false;

  let schemaVersion = readSchemaVersion.get()?.schema_version;
  // What another thread or store of this process has committed shows at once.
  const commitsInProcess = commitsTo(database);
  let commitsSeen = commitsInProcess();
  let checkedAt = Number.NEGATIVE_INFINITY;

  function validate(): void {
    const now = performance.now();
    if (now - checkedAt < CHECK_VALID_MS && commitsSeen === commitsInProcess()) return;
    checkForCommits();
    checkedAt = now;
  }

  /** Invalidates the caches if another connection has committed. */
  function checkForCommits(): void {
    commitsSeen = commitsInProcess();
    if (!version.hasChanged()) return;
    invalidateDocuments();
    const schema = readSchemaVersion.get()?.schema_version;
    if (schema === schemaVersion) return;
    schemaVersion = schema;
    for (const collection of caches.values()) collection.invalidateTable();
  }

  function invalidateDocuments(): void {
    for (const collection of caches.values()) collection.invalidateDocuments();
  }

  const commits = new GroupCommit({
    durability,
    async transaction(work) {
      try {
        await transaction(database, durability, () => {
          // From here to the commit this connection holds the write lock, so the caches stay valid.
          checkForCommits();
          work();
        });
      } catch (error) {
        invalidateDocuments();
        throw error;
      }
    },
  });

  return {
    database,
    validate,
    caches,
    write: (work) => (closed ? Promise.reject(new Error('The document store is closed')) : commits.write(work)),
    isClosed: () => closed,
    async close() {
      closed = true;
      await commits.settled();
      if (database.isOpen) database.close();
    },
  };
}
