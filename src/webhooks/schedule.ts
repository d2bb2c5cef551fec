import { isSuccess, type SendResult } from './send/sender.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The planned delay before each try of a delivery; the first is made immediately (docs/decisions/webhook-deliveries.md). */
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

/** Why a delivery failed, and its registration was disabled, after status 410. */
export const GONE = 'The receiver answered 410 Gone';

const JITTER = 0.2;

/**
 * The delay before the next try, in milliseconds; `undefined` after the last one.
 * @param tries the number of failed tries so far, at least 1
 * @param retryAfter the receiver's `Retry-After`, in milliseconds: it can stretch the planned delay to at most twice its length,
 *   and never shortens it
 * @param random in [0, 1): jitter of ±20 %, so that deliveries that failed together are not retried together
 */
export function delayBeforeNext(tries: number, retryAfter: number | undefined, random: number): number | undefined {
  const planned = PLANNED_DELAYS_MS[tries];
  if (planned === undefined) return undefined;
  const jittered = planned * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(jittered, Math.min(retryAfter ?? 0, 2 * planned)));
}

/**
 * Reads a `Retry-After` header (RFC 9110 §10.2.3): seconds, or an HTTP date.
 * @param now milliseconds since the epoch
 * @returns milliseconds from now, at least 0, without a maximum; `undefined` if it is absent or invalid
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS;
  // Only the date formats of HTTP: Date.parse alone would accept a bare number as a year.
  const at = /^[A-Z][a-z]{2,8},? .+\d{2}:\d{2}:\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** The effect of attempts on their delivery. */
export type Outcome =
  | { readonly state: 'Delivered' }
  /** `delay`: milliseconds from now. */
  | { readonly state: 'Pending'; readonly delay: number }
  | { readonly state: 'Failed'; readonly reason: string };

/**
 * Decides the next state of a delivery from the result of a try.
 * @param delivery before the try
 * @param moment.now milliseconds since the epoch
 */
export function outcomeOf(
  { event, tries }: { readonly event: string; readonly tries: number },
  result: SendResult,
  { now, random }: { readonly now: number; readonly random: number },
): Outcome {
  if (isSuccess(result)) return { state: 'Delivered' };
  if (result.status === 410) return { state: 'Failed', reason: GONE };
  const retryAfter = parseRetryAfter(result.retryAfter, now);
  // A test delivery shows how the receiver responds now; a retry hours later would be of no use.
  const delay = event === 'Test' ? undefined : delayBeforeNext(tries + 1, retryAfter, random);
  return delay === undefined
    ? { state: 'Failed', reason: `The last attempt failed: ${result.error?.type ?? `status ${result.status}`}` }
    : { state: 'Pending', delay };
}
