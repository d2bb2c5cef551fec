import type { DatabaseSync } from 'node:sqlite';
import { DataVersion } from '../../sqlite/data-version.ts';
import { type Durability, openDatabase, transaction } from '../../sqlite/database.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';

/** One SQLite database in WAL mode, shared by any number of processes of the machine. */
export type SqliteFile = {
  readonly database: DatabaseSync;
  /** Runs `work` in a transaction that it may share with others, as `GroupCommit.write` does. */
  write<R>(work: () => R): Promise<R>;
  /** To be called before a cached value is used: forgets what another connection may have changed. */
  validate(): void;
  /** What is remembered of each collection; forgotten whenever it may be wrong. */
  readonly remembered: Map<string, Remembered>;
  close(): Promise<void>;
};

type Remembered = {
  forgetDocuments(): void;
  /** Another connection has made, changed or dropped tables. */
  forgetTable(): void;
};

/**
 * Looking for commits of other connections costs as much as a read, so the reads of one request share a look. It holds for less
 * time than a client takes to hear of a commit from another process and to ask this one; a turn of a busy event loop does not.
 */
const LOOK_HOLDS_MS = 0.05;

// Commits of every connection in this process: two stores on one file see each other's writes within one turn, too.
let commitsInProcess = 0;

export async function openSqliteFile(path: string, durability: Durability): Promise<SqliteFile> {
  const database = await openDatabase({ path, what: 'document store' });
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; PRAGMA mmap_size = 268435456');
  database.exec('PRAGMA wal_autocheckpoint = 4000');

  const version = new DataVersion(database);
  const readSchemaVersion = database.prepare('PRAGMA schema_version');

  const remembered: SqliteFile['remembered'] = new Map();
  let closed = false;

  let schemaVersion = readSchemaVersion.get()?.schema_version;
  let commitsSeen = commitsInProcess;
  let lookedAt = Number.NEGATIVE_INFINITY;

  function validate(): void {
    const now = performance.now();
    if (now - lookedAt < LOOK_HOLDS_MS && commitsSeen === commitsInProcess) return;
    lookForOthers();
    lookedAt = now;
  }

  /** Forgets what other connections have changed. */
  function lookForOthers(): void {
    commitsSeen = commitsInProcess;
    if (!version.hasChanged()) return;
    forgetDocuments();
    const schema = readSchemaVersion.get()?.schema_version;
    if (schema === schemaVersion) return;
    schemaVersion = schema;
    for (const collection of remembered.values()) collection.forgetTable();
  }

  function forgetDocuments(): void {
    for (const collection of remembered.values()) collection.forgetDocuments();
  }

  const commits = new GroupCommit({
    durability,
    async transaction(work) {
      try {
        await transaction(database, durability, () => {
          // From here to the commit nobody else writes: what is remembered now is right.
          lookForOthers();
          work();
        });
        commitsInProcess += 1;
      } catch (error) {
        forgetDocuments();
        throw error;
      }
    },
  });

  return {
    database,
    validate,
    remembered,
    write: (work) => (closed ? Promise.reject(new Error('The document store is closed')) : commits.write(work)),
    async close() {
      closed = true;
      await commits.settled();
      if (database.isOpen) database.close();
    },
  };
}
