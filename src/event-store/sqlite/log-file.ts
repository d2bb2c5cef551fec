import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { FOLDER_OWNER_ONLY } from '../../runtime/private-file.ts';
import { UnusableStore } from '../../runtime/unusable-store.ts';
import { openDatabase, type TakeWalStep, transaction } from '../../sqlite/database.ts';
import type { FileName } from '../../sqlite/file-name.ts';

/** "VBEv": marks a file as an event log of this service (`PRAGMA application_id`). */
const APPLICATION_ID = 0x56424576;
/** Version of the tables below (`PRAGMA user_version`). */
const SCHEMA_VERSION = 1;

const TABLES = `
  CREATE TABLE IF NOT EXISTS events (
    position INTEGER PRIMARY KEY,
    stream   TEXT NOT NULL,
    revision INTEGER NOT NULL,
    id       TEXT NOT NULL,
    type     TEXT NOT NULL,
    data     TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (stream, revision)
  ) STRICT;
`;
const MARKS = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION};`;

export const logFile = (path: string): FileName => ({
  what: 'event log',
  path,
  repair: 'Replace the store with a backup: venue restore FILE --overwrite',
});

/**
 * Opens the log file, creating it and its folder if absent. A single connection reads and writes, so that its page cache stays
 * valid: a second connection would have to read pages again after every commit of the first.
 * @param walSteps see {@link openDatabase}
 * @throws {UnusableStore} if the file is damaged, is not an event log, or was written by a newer version of the service
 */
export async function openLogFile(path: string, walSteps?: TakeWalStep): Promise<DatabaseSync> {
  mkdirSync(dirname(path), { recursive: true, mode: FOLDER_OWNER_ONLY });
  const check = (database: DatabaseSync) => schemaVersion(database, path);
  const database = await openDatabase({ ...logFile(path), check, walSteps });
  try {
    await transaction(database, 'durable', () => {
      schemaVersion(database, path);
      // Always, so that everything that the file shows is durable: a process that was killed may have left commits that are not.
      database.exec(MARKS);
      database.exec(TABLES);
    });
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * The schema version of the file; 0 for a new, empty one.
 * @throws if it is not a log that this version supports
 */
function schemaVersion(database: DatabaseSync, path: string): number {
  const read = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  const application = read('PRAGMA application_id');
  if (application === 0 && read('SELECT count(*) FROM sqlite_schema') === 0) return 0;
  if (application !== APPLICATION_ID) throw new UnusableStore(`${path} is not an event log of this service`);
  const version = read('PRAGMA user_version');
  if (version > SCHEMA_VERSION) {
    throw new UnusableStore(
      `The event log ${path} was written by a newer version (schema ${version}; this version supports ${SCHEMA_VERSION})`,
    );
  }
  return version;
}
