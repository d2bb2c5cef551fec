import { setTimeout as delay } from 'node:timers/promises';

/**
 * Milliseconds until this thread's next multiple of a period, so that periodic jobs share wake-ups: on an idle machine, a wake-up
 * costs more than most jobs. A timer may fire up to 1 ms early.
 */
export const untilNext = (periodMs: number): number => periodMs - ((performance.now() + 1) % periodMs);

/**
 * Runs a job at the multiples of a period, one round at a time, until the signal is aborted. Does not keep the process running.
 * @param round must not reject
 * @returns resolves once the last round has ended
 */
export async function inRounds(periodMs: number, signal: AbortSignal, round: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) {
    await delay(untilNext(periodMs), undefined, { signal, ref: false }).catch(() => {});
    if (!signal.aborted) await round();
  }
}
