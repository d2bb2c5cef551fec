const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The planned delay before each try; the first is made immediately (docs/guides/webhooks.md#retries). */
export const PLANNED_DELAYS_MS: readonly number[] = [
  0,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
];

/** Jitter of ±20 %, so that what failed together is not tried again together. */
export const JITTER = 0.2;

/** @param random in [0, 1) */
export const jittered = (ms: number, random: number): number => ms * (1 - JITTER + 2 * JITTER * random);

/**
 * The delay before the next try, in milliseconds; `undefined` after the last one.
 * @param tries the number of failed tries so far, at least 1
 * @param retryAfter the receiver's `Retry-After`, in milliseconds: it can stretch the planned delay to at most twice its length,
 *   and never shortens it
 * @param random in [0, 1)
 */
export function delayBeforeNext(tries: number, retryAfter: number | undefined, random: number): number | undefined {
  const planned = PLANNED_DELAYS_MS[tries];
  if (planned === undefined) return undefined;
  return Math.round(Math.max(jittered(planned, random), Math.min(retryAfter ?? 0, 2 * planned)));
}
