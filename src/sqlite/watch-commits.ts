import { type FSWatcher, watch } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { atNext } from '../event-loop/rounds.ts';
import { DataVersion } from './data-version.ts';

/** How often to check for commits: while the WAL is written to, and otherwise. */
const BUSY_MS = 2;
const IDLE_MS = 1_000;
/** The same if the system does not report writes to the WAL. */
const UNREPORTED_MS = 250;
/** How long the WAL counts as written to. A commit is visible once the disk has what was written before. */
const BUSY_FOR_MS = 1_000;

/**
 * Calls `committed` soon after a commit of another connection, in any process.
 * @param options.idleMs how often to check in case a report has been lost, in milliseconds. Default 1,000
 * @returns stops watching
 */
export function watchCommits(database: DatabaseSync, committed: () => void, { idleMs = IDLE_MS } = {}): () => void {
  const version = new DataVersion(database);
  let busyUntil = Number.NEGATIVE_INFINITY;
  let cancel = () => {};

  function check(): void {
    try {
      if (!version.hasChanged()) return;
    } catch {
      // The readers meet the same error and handle it.
    }
    committed();
  }

  function checkLater(): void {
    const restMs = watcher === undefined ? UNREPORTED_MS : idleMs;
    cancel = atNext(performance.now() < busyUntil ? BUSY_MS : restMs, () => {
      checkLater();
      check();
    });
  }

  function written(): void {
    const now = performance.now();
    const isChecking = now < busyUntil;
    busyUntil = now + BUSY_FOR_MS;
    if (isChecking) return;
    cancel();
    checkLater();
  }

  let watcher = watchFile(`${database.location()}-wal`, written, () => {
    watcher = undefined;
  });
  checkLater();

  return () => {
    cancel();
    watcher?.close();
  };
}

/** Undefined if the system cannot watch another file. */
function watchFile(path: string, written: () => void, failed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, written);
    watcher.on('error', () => {
      watcher.close();
      failed();
    });
    return watcher;
  } catch {
    return undefined;
  }
}
