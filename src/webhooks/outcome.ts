import type { Outcome } from '../outbox/progress.ts';
import { delayBeforeNext } from '../outbox/schedule.ts';
import { isSuccess, type SendResult } from './send/sender.ts';

/** Why a delivery failed, and its registration was disabled, after status 410. */
export const GONE = 'The receiver answered 410 Gone';

/**
 * Reads a `Retry-After` header (RFC 9110 §10.2.3): seconds, or an HTTP date.
 * @param now milliseconds since the epoch
 * @returns milliseconds from now, at least 0, without a maximum; `undefined` if it is absent or invalid
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // Only the date formats of HTTP: Date.parse alone would accept a bare number as a year.
  const at = /^[A-Z][a-z]{2,8},? .+\d{2}:\d{2}:\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/**
 * Decides the next state of a delivery from the result of a try.
 * @param delivery before the try
 * @param moment.now milliseconds since the epoch
 */
export function outcomeOf(
  { event, tries }: { readonly event: string; readonly tries: number },
  result: SendResult,
  { now, random }: { readonly now: number; readonly random: number },
): Outcome<'Delivered'> {
  if (isSuccess(result)) return { state: 'Delivered' };
  if (result.status === 410) return { state: 'Failed', reason: GONE };
  const retryAfter = parseRetryAfter(result.retryAfter, now);
  // A test delivery shows how the receiver responds now; a retry hours later would be of no use.
  const delay = event === 'Test' ? undefined : delayBeforeNext(tries + 1, retryAfter, random);
  return delay === undefined
    ? { state: 'Failed', reason: `The last attempt failed: ${result.error?.type ?? `status ${result.status}`}` }
    : { state: 'Pending', delay };
}
