import { setTimeout as pause } from 'node:timers/promises';
import { Unavailable } from '../runtime/unavailable.ts';
import type { FileName } from './file-name.ts';
import { lockHolder } from './lock-holder.ts';

/** How long writes wait for other connections. Short enough that the request still answers within its deadline. */
const LOCK_TIMEOUT_MS = 8_000;
/** How long a write waits if earlier ones have already given up. */
const LATE_MS = 100;
/** If no write has met the lock for this long, it counts as released. */
const FORGOTTEN_AFTER_MS = 2_000;

/** Another process held the write lock of a file for too long. Nothing was stored. */
class FileLocked extends Unavailable {
  constructor({ what, path }: Pick<FileName, 'what' | 'path'>, cause: unknown) {
    const pid = lockHolder(path);
    const holder = pid === undefined ? 'another process' : `process ${pid}`;
    super(
      `The ${what} ${path} is locked: ${holder} has been holding its write lock for more than ${LOCK_TIMEOUT_MS / 1_000} s`,
      cause,
      `The ${what} is locked by another process, so nothing can be written at the moment`,
    );
    this.name = 'FileLocked';
  }
}

/** What can be wrong with the disk, by SQLite's code: for the operator, and for the client. */
const DISK_PROBLEMS: ReadonlyMap<number | undefined, { readonly problem: string; readonly publicMessage: string }> =
  new Map([
    [8, { problem: 'is read-only', publicMessage: 'The disk is read-only, so nothing can be written at the moment' }],
    // The disk may have what could not be confirmed.
    [10, { problem: 'fails', publicMessage: 'The disk fails, and whether this was done is not known' }],
    [13, { problem: 'is full', publicMessage: 'The disk is full, so nothing can be written at the moment' }],
    [
      14,
      { problem: 'cannot be used', publicMessage: 'The disk cannot be used, so nothing can be written at the moment' },
    ],
  ]);

/** The error that names the file if its disk is the cause; otherwise as it is. */
function diskProblem({ what, path }: Pick<FileName, 'what' | 'path'>, error: unknown): unknown {
  const found = DISK_PROBLEMS.get(primaryCode(error));
  if (found === undefined) return error;
  return new Unavailable(`The disk of the ${what} ${path} ${found.problem}`, error, found.publicMessage);
}

export type RetryWhileBusy = <Result>(attempt: () => Result) => Promise<Result>;

/**
 * Repeats attempts while another connection holds the write lock of one file. Waits outside SQLite, whose own wait (`busy_timeout`)
 * would block the whole process (docs/decisions/processes.md). All writes of this process share one wait, which begins when the first
 * of them finds the file locked.
 */
export function createRetryWhileBusy(file: Pick<FileName, 'what' | 'path'>): RetryWhileBusy {
  let lockedSince: number | undefined;
  let seenAt = 0;

  /** @returns the time to give up */
  function noteLocked(now: number, startedAt: number): number {
    if (lockedSince === undefined || now - seenAt > FORGOTTEN_AFTER_MS) lockedSince = now;
    seenAt = now;
    // Never longer than the timeout after its own start, even if this process was suspended.
    return Math.min(Math.max(lockedSince + LOCK_TIMEOUT_MS, startedAt + LATE_MS), startedAt + LOCK_TIMEOUT_MS);
  }

  return async (attempt) => {
    const startedAt = performance.now();
    for (;;) {
      try {
        const result = attempt();
        lockedSince = undefined;
        return result;
      } catch (error) {
        if (!isBusy(error)) {
          lockedSince = undefined;
          throw diskProblem(file, error);
        }
        const now = performance.now();
        if (now > noteLocked(now, startedAt)) throw new FileLocked(file, error);
      }
      await pause(1 + Math.random() * 2);
    }
  };
}

/** Whether a write failed because another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof FileLocked || primaryCode(error) === BUSY;
}

/** Whether a file is damaged or not a database. */
export const isDamage = (error: unknown): boolean => DAMAGE.has(primaryCode(error));

// sqlite.org/rescode.html
const BUSY = 5;
const DAMAGE: ReadonlySet<number | undefined> = new Set([11, 26]);

/** SQLite's primary result code: the low byte of an extended one. */
const primaryCode = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
