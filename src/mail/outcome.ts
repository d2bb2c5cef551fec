import type { Outcome } from '../outbox/progress.ts';
import { delayBeforeNext, PLANNED_DELAYS_MS } from '../outbox/schedule.ts';
import type { MailCause } from './smtp-cause.ts';

/** What came of handing a mail to the server. `response` has no addresses. */
export type SendResult = { readonly code?: number; readonly response: string } & (
  | { readonly outcome: 'accepted' }
  /** About this mail: its recipient or its content. `isFinal`: the server would refuse it again. */
  | { readonly outcome: 'refused'; readonly isFinal: boolean }
  /** About every mail: the server cannot be reached, or does not let this service send. */
  | { readonly outcome: 'unreachable'; readonly cause: MailCause }
);

/** The same, once it is known whether the server refused one mail or the service (`refusals.ts`). */
export type Judged =
  | SendResult
  /** The server answered one mail, and refuses the service. */
  | { readonly outcome: 'held'; readonly cause: MailCause; readonly response: string; readonly code?: number };

/** The last try comes so long before the mail is too old. */
const LAST_TRY_BEFORE_MS = 60_000;

/**
 * Decides the next state of a mail: it is tried again on the schedule (`outbox/schedule.ts`), the last time a minute
 * before it is too old, unless the server has refused it for good. While the server refuses the service, it waits as long as all mail does.
 * @param mail before the try
 * @param moment.pause how long all mail waits now if it does, in milliseconds
 * @param moment.now milliseconds since the epoch
 * @param moment.random in [0, 1)
 */
export function outcomeOf(
  { tries, notAfter }: { readonly tries: number; readonly notAfter: string },
  result: Judged,
  { now, random, pause }: { readonly now: number; readonly random: number; readonly pause: number },
): Outcome<'Sent'> {
  if (result.outcome === 'accepted') return { state: 'Sent' };
  if (result.outcome === 'refused' && result.isFinal)
    return { state: 'Failed', reason: 'The mail server refused it for good.' };
  const untilLast = Date.parse(notAfter) - LAST_TRY_BEFORE_MS - now;
  if (untilLast <= 0) return { state: 'Failed', reason: 'The mail server did not take it within a day.' };
  const isTry = result.outcome !== 'held';
  const planned = isTry ? delayBeforeNext(tries + 1, undefined, random) : pause;
  return { state: 'Pending', delay: Math.min(planned ?? Number.POSITIVE_INFINITY, untilLast), isTry };
}

/** How long nothing is sent after so many attempts in a row that have shown that the server takes no mail: the early steps of the schedule. */
const PAUSES_MS = PLANNED_DELAYS_MS.slice(1, 4);

/** @param failures at least 1 @returns milliseconds */
export const pauseAfter = (failures: number): number => PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1] ?? 0;
