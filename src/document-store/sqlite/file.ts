import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { keepPrivate } from '../../runtime/private-file.ts';

/** How long a write waits for other processes of the machine before it fails. */
const WRITE_LOCK_TIMEOUT = 10_000;

/** One SQLite database in WAL mode, shared by any number of processes of the machine. */
export type SqliteFile = {
  readonly database: DatabaseSync;
  /**
   * Runs `work` inside a transaction and resolves when it is committed. Writes waiting at the same moment share one
   * transaction, hence one fsync. `work` must be repeatable: when one of a group fails, each is run again on its own.
   */
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

type Job = { readonly run: () => void; readonly resolve: () => void; readonly reject: (error: unknown) => void };

// Commits of every connection in this process: two stores on one file see each other's writes within one turn, too.
let commitsInProcess = 0;

/**
 * @param durable fsync with every commit (`synchronous=FULL`); otherwise a power failure, not a crash of the process, may
 * take the last commits with it
 */
export function openSqliteFile(path: string, durable: boolean): SqliteFile {
  const database = new DatabaseSync(path, { timeout: WRITE_LOCK_TIMEOUT });
  keepPrivate(path);
  database.exec('PRAGMA journal_mode = WAL');
  database.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; PRAGMA mmap_size = 268435456');
  database.exec('PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864');

  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const rollback = database.prepare('ROLLBACK');
  const readDataVersion = database.prepare('PRAGMA data_version');
  const readSchemaVersion = database.prepare('PRAGMA schema_version');

  const remembered: SqliteFile['remembered'] = new Map();
  let queue: Job[] = [];
  let flushing: Promise<void> | undefined;
  let closed = false;

  let dataVersion = readDataVersion.get()?.data_version;
  let schemaVersion = readSchemaVersion.get()?.schema_version;
  let commitsSeen = commitsInProcess;
  let validated = false;
  const endTurn = () => {
    validated = false;
  };

  function validate(): void {
    if (validated && commitsSeen === commitsInProcess) return;
    lookForOthers();
    // Looking costs as much as a read: once in a turn of the event loop is enough, other processes are no faster.
    if (!validated) {
      validated = true;
      setImmediate(endTurn);
    }
  }

  /** Forgets what other connections have changed. */
  function lookForOthers(): void {
    commitsSeen = commitsInProcess;
    const now = readDataVersion.get()?.data_version;
    if (now === dataVersion) return;
    dataVersion = now;
    forgetDocuments();
    const schema = readSchemaVersion.get()?.schema_version;
    if (schema === schemaVersion) return;
    schemaVersion = schema;
    for (const collection of remembered.values()) collection.forgetTable();
  }

  function forgetDocuments(): void {
    for (const collection of remembered.values()) collection.forgetDocuments();
  }

  /** Waits for the write lock without blocking the event loop. */
  async function lock(): Promise<void> {
    const deadline = performance.now() + WRITE_LOCK_TIMEOUT;
    for (let attempt = 1; !tryLock(deadline); attempt++) await delay(1 + Math.random() * Math.min(attempt, 10));
  }

  function tryLock(deadline: number): boolean {
    database.exec('PRAGMA busy_timeout = 1');
    try {
      begin.run();
      return true;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      return false;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${WRITE_LOCK_TIMEOUT}`);
    }
  }

  async function transaction(take: () => readonly Job[]): Promise<void> {
    let jobs: readonly Job[] = [];
    try {
      await lock();
      // From here to the commit nobody else writes: what is remembered now is right.
      lookForOthers();
      jobs = take();
      for (const job of jobs) job.run();
      commit.run();
      commitsInProcess += 1;
    } catch (error) {
      if (database.isTransaction) rollback.run();
      forgetDocuments();
      if (jobs.length === 0) jobs = take();
      if (jobs.length > 1) for (const job of jobs) await transaction(() => [job]);
      else for (const job of jobs) job.reject(error);
      return;
    }
    for (const job of jobs) job.resolve();
  }

  async function flush(): Promise<void> {
    while (queue.length > 0) {
      await transaction(() => {
        const jobs = queue;
        queue = [];
        return jobs;
      });
    }
    flushing = undefined;
  }

  return {
    database,
    validate,
    remembered,
    write<R>(work: () => R): Promise<R> {
      if (closed) return Promise.reject(new Error('The document store is closed'));
      return new Promise((resolve, reject) => {
        let result: { readonly value: R } | undefined;
        queue.push({
          run: () => {
            result = { value: work() };
          },
          resolve: () => result !== undefined && resolve(result.value),
          reject,
        });
        // A commit that waits for the disk gathers the writes of a whole turn; a cheap one only those made in one go.
        flushing ??= (durable ? nextTurn() : Promise.resolve()).then(flush);
      });
    },
    async close() {
      closed = true;
      await flushing;
      if (database.isOpen) database.close();
    },
  };
}

/** Lets other work of the event loop run. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function isBusy(error: unknown): boolean {
  // The low byte is the primary result code, SQLITE_BUSY.
  return (
    error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5
  );
}
