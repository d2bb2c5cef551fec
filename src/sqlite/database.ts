import { DatabaseSync } from 'node:sqlite';
import { keepPrivate } from '../runtime/private-file.ts';
import { retryWhileBusy } from './busy.ts';

/** How long a read waits while another process recovers the file after a crash. */
const READ_TIMEOUT_MS = 5_000;

/**
 * Opens a database in WAL mode, creating it if absent. Any number of processes on the machine may have it open.
 * @param what names the database in errors
 * @param check throws if the file must not be used; nothing has been written to it by then
 */
export async function openDatabase({
  path,
  what,
  check = () => {},
}: {
  readonly path: string;
  readonly what: string;
  readonly check?: (database: DatabaseSync) => void;
}): Promise<DatabaseSync> {
  const database = connect(path, what);
  try {
    await retryWhileBusy(() => check(database));
    keepPrivate(path);
    await retryWhileBusy(() => database.exec('PRAGMA journal_mode = WAL'));
    database.exec(`PRAGMA journal_size_limit = 67108864; PRAGMA busy_timeout = ${READ_TIMEOUT_MS}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function connect(path: string, what: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: 0 });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The ${what} ${path} cannot be opened: ${reason}`, { cause });
  }
}

/** `durable`: on disk when the commit returns. `lazy`: a power failure, though not a crash, may lose the last commits. */
export type Durability = 'durable' | 'lazy';

const SYNCHRONOUS: Readonly<Record<Durability, string>> = {
  durable: 'PRAGMA synchronous = FULL',
  lazy: 'PRAGMA synchronous = NORMAL',
};
/** The current setting of each connection. Setting it again would cost a tenth of a lazy commit. */
const current = new WeakMap<DatabaseSync, Durability>();

/**
 * Runs `work` synchronously in a write transaction. Waits for other connections without blocking this process, and rolls back
 * if `work` throws.
 * @throws whatever `work` throws, and SQLite's own errors such as a full disk; nothing is stored then
 */
export function transaction<Result>(
  database: DatabaseSync,
  durability: Durability,
  work: () => Result,
): Promise<Result> {
  return retryWhileBusy(() => {
    try {
      if (current.get(database) !== durability) {
        database.exec(SYNCHRONOUS[durability]);
        current.set(database, durability);
      }
      database.exec('PRAGMA busy_timeout = 0; BEGIN IMMEDIATE');
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${READ_TIMEOUT_MS}`);
    }
  });
}
