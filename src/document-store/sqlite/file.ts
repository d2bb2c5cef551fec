import { loopTurn } from '../../event-loop/loop-turn.ts';
import { DataVersion } from '../../sqlite/data-version.ts';
import { type Durability, makeDurable, openDatabase, type TakeWalStep, transaction } from '../../sqlite/database.ts';
import type { FileName } from '../../sqlite/file-name.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';

export type SqliteFile = Awaited<ReturnType<typeof openSqliteFile>>;

type CollectionCache = {
  forgetAll(): void;
  /** Another connection has created, altered or dropped tables. */
  readTable(): void;
};

/** What the files of a store have in common. */
export type FileOptions = {
  /** Has another thread take the steps for a WAL; see {@link openDatabase}. */
  readonly walSteps?: TakeWalStep | undefined;
};

/**
 * Opens a SQLite database in WAL mode, shared by any number of processes on the machine.
 * @param file.pageSize of a file that is created, in bytes. Default 4,096
 */
export async function openSqliteFile(
  file: FileName & { readonly pageSize?: number },
  durability: Durability,
  options: FileOptions = {},
) {
  const database = await openDatabase({ ...file, ...options });
  // Several connections open each file. They read the main file from the system's cache (mmap), so each needs its own page cache only
  // for pages in the WAL. Caching the whole WAL would make bookings no faster, and the C library does not return that
  // memory to the system.
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -6144; PRAGMA mmap_size = 268435456');
  if (durability === 'durable') {
    // Overwrite removed and replaced records, such as users and keys, in the file.
    database.exec('PRAGMA secure_delete = ON');
    await makeDurable(database);
  }

  const version = new DataVersion(database);
  const readSchemaVersion = database.prepare('PRAGMA schema_version');
  const caches = new Map<string, CollectionCache>();
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

  /** Clears the caches if another connection has committed. */
  function checkForCommits(): void {
    if (!version.hasChanged()) return;
    forgetAll();
    const schema = readSchemaVersion.get()?.schema_version;
    if (schema === schemaVersion) return;
    schemaVersion = schema;
    for (const collection of caches.values()) collection.readTable();
  }

  function forgetAll(): void {
    for (const collection of caches.values()) collection.forgetAll();
  }

  async function commit(work: () => void): Promise<void> {
    const run = () => {
      // From here to the commit this connection holds the write lock, so the caches stay valid.
      checkForCommits();
      work();
    };
    try {
      await transaction(database, durability, run);
    } catch (error) {
      forgetAll();
      throw error;
    }
  }

  const commits = new GroupCommit({ durability, transaction: commit });
  return {
    database,
    /** Call before using a cached value: invalidates entries that other connections may have changed. */
    validate,
    /** The cache of each collection, invalidated whenever it may be stale. */
    caches,
    /** Runs `work` in a transaction that it may share with other writes (`GroupCommit.write`). */
    write: <R>(work: () => R): Promise<R> =>
      closed ? Promise.reject(new Error('The document store is closed')) : commits.write(work),
    isClosed: (): boolean => closed,
    async close(): Promise<void> {
      closed = true;
      await commits.settled();
      if (database.isOpen) database.close();
    },
  };
}
