import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepPrivate } from '../private-file.ts';

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

export type LogFile = {
  /** Appends events: every commit is on the disk when it returns. Never waits for a lock by itself. */
  readonly writer: DatabaseSync;
  /** Reads, and sees at once what any connection commits. */
  readonly reader: DatabaseSync;
  /** Group state: commits may be lost by a power cut (not by a crash), which redelivers events and loses none. */
  readonly groups: DatabaseSync;
};

/**
 * Opens the log file, making it and its folder when absent.
 * @throws when the file is something else, or was written by a newer version of the service
 */
export async function openLogFile(path: string): Promise<LogFile> {
  mkdirSync(dirname(path), { recursive: true });
  const writer = connect(path, 0);
  try {
    await whenFree(() => checkOrigin(writer, path));
    keepPrivate(path);
    await whenFree(() => writer.exec('PRAGMA journal_mode = WAL'));
    writer.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    await inTransaction(writer, () => {
      if (checkOrigin(writer, path) === 0) writer.exec(SCHEMA);
    });
    const reader = connect(path, 5_000);
    const groups = connect(path, 0);
    groups.exec('PRAGMA synchronous = NORMAL');
    return { writer, reader, groups };
  } catch (error) {
    writer.close();
    throw error;
  }
}

/**
 * Runs `work` in a write transaction, in one go: nothing else of this process runs between its start and its end.
 * Waits for other processes without blocking this one; rolls back when `work` throws.
 * @throws what `work` throws, and SQLite's own errors (disk full, …); nothing is stored then
 */
export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Promise<Result> {
  return whenFree(() => {
    database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // After some errors (disk full) SQLite has rolled back by itself.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  });
}

function connect(path: string, timeout: number): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout });
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
