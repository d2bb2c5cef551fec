import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { untilNext } from '../event-loop/rounds.ts';

/** How often to look for retries, and for records that other processes have stored. */
export const POLL_INTERVAL_MS = 1_000;

export type Poll = {
  /** Looks no further, and waits for the last look. */
  stop(): Promise<void>;
};

/**
 * Looks for due records until it is stopped. Resolves after the first look.
 * @param deps.look resolves to the time until something is due, in milliseconds; `intervalMs` at most counts
 * @throws if the first look fails
 */
export async function startPolling(deps: {
  readonly look: (signal: AbortSignal) => Promise<number>;
  /** What is due, for the log. */
  readonly what: string;
  readonly logger: Pick<BaseLogger, 'error'>;
  readonly intervalMs?: number | undefined;
}): Promise<Poll> {
  const { look, what, logger, intervalMs = POLL_INTERVAL_MS } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;

  /** @returns the pause after it. Looking takes at most a fifth of the time, however much is pending */
  async function lookOnce(): Promise<number> {
    const startedAt = performance.now();
    const untilDue = await look(signal);
    return Math.max(10, 4 * (performance.now() - startedAt), Math.min(untilDue, intervalMs));
  }

  async function keepLooking(firstPauseMs: number): Promise<void> {
    for (let pauseMs = firstPauseMs; ; ) {
      // The usual pause shares its wake-up with other periodic jobs; any other ends when a record becomes due, or limits the load.
      if (pauseMs === intervalMs) await untilNext(intervalMs, signal);
      else await sleep(pauseMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      pauseMs = await lookOnce().catch((error: unknown) => {
        logger.error({ err: error }, `Looking up due ${what} failed; retrying`);
        return intervalMs;
      });
    }
  }

  const looking = keepLooking(await lookOnce());
  return {
    async stop() {
      stopping.abort();
      await looking;
    },
  };
}
