import { setTimeout as sleep } from 'node:timers/promises';

/** How long a write waits for other connections before it gives up. */
const LOCK_TIMEOUT_MS = 10_000;

/**
 * Repeats `attempt` while another connection holds the write lock. Waits outside SQLite, whose own wait (`busy_timeout`)
 * would block the whole process (docs/decisions/embedded-log.md).
 */
export async function retryWhileBusy<Result>(attempt: () => Result): Promise<Result> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await sleep(Math.random() * 3);
    }
  }
}

/** Whether SQLite failed because another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  // The low byte is the primary result code: 5 is SQLITE_BUSY (sqlite.org/rescode.html).
  return (
    error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5
  );
}
