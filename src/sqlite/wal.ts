import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** A WAL with this much to checkpoint is checkpointed. */
const CHECKPOINT_BYTES = 16 * 2 ** 20;
/** A WAL that has grown by this much gets its next step. So much of lazy commits is brought to the disk at once, which durable ones wait for. */
const STEP_BYTES = 4 * 2 ** 20;
/** A WAL of this size starts again even if that has to wait for readers. */
const TOO_LONG_BYTES = 64 * 2 ** 20;
/** How often to look, in commits: a look takes several microseconds. */
const LOOK_EVERY = 8;
/** How long a restart waits for the lock and for readers, while others cannot write. */
const RESTART_WITHIN_MS = 10;
const TOO_LONG_RESTART_WITHIN_MS = 100;

/** What is done for a WAL: `flush` brings it to the disk, `checkpoint` moves it into the database, too. */
export type WalStep = 'flush' | 'checkpoint';

/**
 * Watches the WAL of a connection, which SQLite then no longer checkpoints with a commit.
 * @param take called with the step that is due. Another thread may take it
 * @returns call it after each commit, with its durability
 */
export function watchWal(
  database: DatabaseSync,
  take: (step: WalStep) => void,
): (durability: 'durable' | 'lazy') => void {
  database.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${TOO_LONG_BYTES}`);
  const size = sizeOf(database);
  let commits = 0;
  let reached = 0;
  return (durability) => {
    commits += 1;
    if (commits % LOOK_EVERY !== 0) return;
    const { all, unmoved } = size();
    // A WAL that has started again is shorter.
    if (all < reached) reached = 0;
    if (all - reached < STEP_BYTES) return;
    reached = all;
    if (unmoved >= CHECKPOINT_BYTES) take('checkpoint');
    else if (durability === 'lazy') take('flush');
  };
}

/**
 * Moves the WAL into the database, and makes it start again: a commit takes half as long where it has been written before. Others write
 * meanwhile; only while it starts again, they wait for what they have written last. So it does not while a reader, such as a backup, keeps
 * much in it. Then makes a commit without a change: SQLite brings the
 * beginning of a new WAL to the disk, and no other connection should have to wait for that.
 */
export function checkpointWal(database: DatabaseSync): void {
  const size = sizeOf(database);
  const { timeout } = database.prepare('PRAGMA busy_timeout').get() ?? {};
  const { synchronous } = database.prepare('PRAGMA synchronous').get() ?? {};
  try {
    // Brings checkpoints to the disk, and of commits only the beginning of a new WAL.
    database.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL');
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    const { all, unmoved } = size();
    const withinMs = all >= TOO_LONG_BYTES ? TOO_LONG_RESTART_WITHIN_MS : RESTART_WITHIN_MS;
    if (all >= TOO_LONG_BYTES || unmoved < STEP_BYTES)
      database.exec(`PRAGMA busy_timeout = ${withinMs}; PRAGMA wal_checkpoint(RESTART)`);
    database.exec('BEGIN IMMEDIATE');
    const { user_version } = database.prepare('PRAGMA user_version').get() ?? {};
    database.exec(`PRAGMA user_version = ${Number(user_version)}; COMMIT`);
  } catch {
    // Another connection is checkpointing or writing, or the disk is full: the next look tries again.
    if (database.isTransaction) database.exec('ROLLBACK');
  } finally {
    database.exec(`PRAGMA busy_timeout = ${Number(timeout)}; PRAGMA synchronous = ${Number(synchronous)}`);
  }
}

/** Checkpoints the WAL of a file that another thread has open. @throws if the file has been removed since */
export function checkpointFile(path: string): void {
  // By default, SQLite would create the file again.
  const existing = pathToFileURL(path);
  existing.search = '?mode=rw';
  const database = new DatabaseSync(existing);
  try {
    database.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${TOO_LONG_BYTES}`);
    checkpointWal(database);
  } finally {
    database.close();
  }
}

/** Brings the WAL of a file to the disk. @throws if it has been removed since */
export function flushWal(path: string): void {
  const wal = openSync(`${path}-wal`, 'r');
  try {
    fdatasyncSync(wal);
  } finally {
    closeSync(wal);
  }
}

type WalSize = { readonly all: number; readonly unmoved: number };

/** Prepares a look at the size of the WAL, in bytes: all of it, and what is not checkpointed yet. */
function sizeOf(database: DatabaseSync): () => WalSize {
  const pageSize = Number(database.prepare('PRAGMA page_size').get()?.page_size);
  const look = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  return () => {
    const { log, checkpointed } = look.get() ?? {};
    return { all: Number(log) * pageSize, unmoved: (Number(log) - Number(checkpointed)) * pageSize };
  };
}
