import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { restrictToOwner } from '../runtime/private-file.ts';
import { UnusableStore } from '../runtime/unusable-store.ts';
import { createRetryWhileBusy, isBusy, type RetryWhileBusy } from './busy.ts';
import type { FileName } from './file-name.ts';
import { NamedDatabase } from './named-database.ts';
import { checkpointWal, type WalStep, watchWal } from './wal.ts';

/** Takes a step for the WAL of the file. */
export type TakeWalStep = (path: string, step: WalStep) => void;

/** How long a read waits while another process recovers the file after a crash. */
const READ_TIMEOUT_MS = 5_000;

type Connection = {
  readonly retryWhileBusy: RetryWhileBusy;
  readonly begin: StatementSync;
  readonly commit: StatementSync;
  /** The current setting. Setting it again would cost a tenth of a lazy commit. */
  durability: Durability | undefined;
  /** Called after each commit. */
  readonly committed: (durability: Durability) => void;
};

const connections = new WeakMap<DatabaseSync, Connection>();

function connectionOf(database: DatabaseSync): Connection {
  const connection = connections.get(database);
  if (connection === undefined) throw new Error('The connection was not opened by openDatabase');
  return connection;
}

/**
 * Opens a database in WAL mode, creating it if absent. Any number of processes on the machine may have it open.
 * @param file.check throws if the file must not be used; nothing has been written to it by then
 * @param file.pageSize of a file that is created, in bytes. Default 4,096
 * @param file.walSteps has another thread take the steps for a WAL. By default this connection checkpoints it
 * @throws {UnusableStore} if the file cannot be opened or is damaged
 */
export async function openDatabase({
  check = () => {},
  pageSize = 4_096,
  walSteps,
  ...file
}: FileName & {
  readonly check?: (database: DatabaseSync) => void;
  readonly pageSize?: number;
  readonly walSteps?: TakeWalStep | undefined;
}): Promise<DatabaseSync> {
  const { path } = file;
  const database = connect(file);
  const retryWhileBusy = createRetryWhileBusy(file);
  try {
    await retryWhileBusy(() => check(database));
    restrictToOwner(path);
    await retryWhileBusy(() => database.exec(`PRAGMA page_size = ${pageSize}; PRAGMA journal_mode = WAL`));
    database.exec(`PRAGMA busy_timeout = ${READ_TIMEOUT_MS}`);
    connections.set(database, {
      retryWhileBusy,
      begin: database.prepare('BEGIN IMMEDIATE'),
      commit: database.prepare('COMMIT'),
      durability: undefined,
      committed: watchWal(database, (step) => {
        if (walSteps !== undefined) walSteps(path, step);
        else if (step === 'checkpoint') checkpointWal(database);
      }),
    });
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function connect(file: FileName): DatabaseSync {
  try {
    return new NamedDatabase(file);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UnusableStore(`The ${file.what} ${file.path} cannot be opened: ${reason}`, cause);
  }
}

/** `durable`: on disk when the commit returns. `lazy`: a power failure, though not a crash, may lose the last commits. */
export type Durability = 'durable' | 'lazy';

const SYNCHRONOUS: Readonly<Record<Durability, string>> = {
  durable: 'PRAGMA synchronous = FULL',
  lazy: 'PRAGMA synchronous = NORMAL',
};

/**
 * Runs `work` synchronously in a write transaction. Waits for other connections without blocking this process, and rolls back if
 * `work` throws.
 * @throws errors of `work` and of SQLite, such as a full disk; nothing is stored then
 */
export async function transaction<Result>(
  database: DatabaseSync,
  durability: Durability,
  work: () => Result,
): Promise<Result> {
  const connection = connectionOf(database);
  return connection.retryWhileBusy(() => {
    try {
      if (connection.durability !== durability) {
        database.exec(SYNCHRONOUS[durability]);
        connection.durability = durability;
      }
      database.exec('PRAGMA busy_timeout = 0');
      connection.begin.run();
      const result = work();
      connection.commit.run();
      connection.committed(durability);
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

/**
 * Makes everything durable that the file shows: a process that was killed may have committed without waiting for the disk. Call it
 * after opening a durable file, before anything is read.
 */
export async function makeDurable(database: DatabaseSync): Promise<void> {
  const read = database.prepare('PRAGMA user_version');
  await transaction(database, 'durable', () =>
    database.exec(`PRAGMA user_version = ${Number(read.get()?.user_version)}`),
  );
}

/** How long to wait for connections that read from the WAL. */
const READERS_TIMEOUT_MS = 5_000;
const CHECK_EVERY_MS = 20;

/**
 * Checkpoints and truncates the WAL, which holds earlier versions of changed pages. Readers continue; writers wait until the
 * checkpoint ends.
 * @returns false if readers blocked it for 5 s, so that the WAL is not empty
 */
export async function emptyWal(database: DatabaseSync): Promise<boolean> {
  const startedAt = performance.now();
  for (;;) {
    try {
      database.exec('PRAGMA busy_timeout = 0');
      if (database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0) return true;
    } catch (error) {
      if (!isBusy(error)) throw error;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${READ_TIMEOUT_MS}`);
    }
    if (performance.now() - startedAt > READERS_TIMEOUT_MS) return false;
    await pause(CHECK_EVERY_MS);
  }
}
