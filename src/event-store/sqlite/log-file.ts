import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepPrivate } from '../../runtime/private-file.ts';

/** "VBEv": marks a file as an event log of this service (`PRAGMA application_id`). */
const APPLICATION_ID = 0x56424576;
/** Version of the tables below (`PRAGMA user_version`). */
const SCHEMA_VERSION = 1;

/** How long a writer queues behind other processes before it gives up. */
const BUSY_LIMIT_MS = 10_000;

const SCHEMA = `
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream   TEXT NOT NULL,
    revision INTEGER NOT NULL,
    id       TEXT NOT NULL,
    type     TEXT NOT NULL,
    data     TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (stream, revision)
  ) STRICT;

  -- A consumer group: events up to checkpoint are handled, or have a row in deliveries.
  CREATE TABLE groups (
    name       TEXT PRIMARY KEY,
    checkpoint INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Events of a group that are in a consumer's hands, wait for another attempt, or are parked (due is null).
  CREATE TABLE deliveries (
    group_name TEXT NOT NULL,
    position   INTEGER NOT NULL,
    consumer   TEXT,
    attempts   INTEGER NOT NULL,
    due        INTEGER,
    reason     TEXT,
    parked_at  INTEGER,
    PRIMARY KEY (group_name, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX deliveries_due ON deliveries (group_name, due);

  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** How long a read waits while another process repairs the file after a crash, in milliseconds. */
const READ_TIMEOUT_MS = 5_000;

/**
 * Opens the log file, making it and its folder when absent. One connection does everything: it keeps the pages that it read
 * and wrote, where one beside it would have to read them again after each commit of the other.
 * @throws when the file is something else, or was written by a newer version of the service
 */
export async function openLogFile(path: string): Promise<DatabaseSync> {
  mkdirSync(dirname(path), { recursive: true });
  const database = connect(path);
  try {
    await whenFree(() => checkOrigin(database, path));
    keepPrivate(path);
    await whenFree(() => database.exec('PRAGMA journal_mode = WAL'));
    database.exec('PRAGMA journal_size_limit = 67108864');
    await inTransaction(database, 'durable', () => {
      if (checkOrigin(database, path) === 0) database.exec(SCHEMA);
    });
    database.exec(`PRAGMA busy_timeout = ${READ_TIMEOUT_MS}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** `durable`: on the disk when the commit returns. `lazy`: a power cut, not a crash, may take the last commits with it. */
export type Durability = 'durable' | 'lazy';

const BEGIN = {
  durable: 'PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; BEGIN IMMEDIATE',
  lazy: 'PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE',
};

/**
 * Runs `work` in a write transaction, in one go: nothing else of this process runs between its start and its end.
 * Waits for other processes without blocking this one; rolls back when `work` throws.
 * @throws what `work` throws, and SQLite's own errors (disk full, …); nothing is stored then
 */
export function inTransaction<Result>(
  database: DatabaseSync,
  durability: Durability,
  work: () => Result,
): Promise<Result> {
  return whenFree(() => {
    try {
      database.exec(BEGIN[durability]);
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // After some errors (disk full) SQLite has rolled back by itself.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${READ_TIMEOUT_MS}`);
    }
  });
}

function connect(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw new Error(`The event log ${path} cannot be opened: ${message(error)}`, { cause: error });
  }
}

/** The schema version of the file; 0 for a new, empty one. */
function checkOrigin(database: DatabaseSync, path: string): number {
  const read = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  let application: number;
  try {
    application = read('PRAGMA application_id');
    if (application === 0 && read('SELECT count(*) FROM sqlite_schema') === 0) return 0;
  } catch (error) {
    if (isBusy(error)) throw error;
    throw new Error(`The event log ${path} cannot be read: ${message(error)}`, { cause: error });
  }
  if (application !== APPLICATION_ID) throw new Error(`${path} is not an event log of this service`);
  const version = read('PRAGMA user_version');
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `The event log ${path} was written by a newer version (schema ${version}; this one knows ${SCHEMA_VERSION})`,
    );
  }
  return version;
}

/** Waits outside of SQLite, whose own wait (busy_timeout) would stand still with the whole process. */
async function whenFree<Result>(attempt: () => Result): Promise<Result> {
  const deadline = performance.now() + BUSY_LIMIT_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await sleep(Math.random() * 3);
    }
  }
}

/** Another process holds the file, and has done so for longer than is waited. */
export function isBusy(error: unknown): boolean {
  // The low byte is the primary result code: 5 is SQLITE_BUSY (sqlite.org/rescode.html).
  return (
    error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5
  );
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
