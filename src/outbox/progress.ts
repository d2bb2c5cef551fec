import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';

/**
 * How far something has come that is to be sent: what deliveries and mails store alike, and how attempts change it. Pure: the caller passes
 * the time, `now`, in milliseconds since the epoch.
 */
export type Progress<State extends string = string, Attempt extends object = object> = {
  /** `Pending` until it was sent, or ended otherwise. */
  readonly state: State;
  /** Pending: when the next try is due. Otherwise: when it ended. */
  readonly due: Timestamp;
  /** Pending: the delay that led to `due`, in milliseconds. Without one it was due at once. */
  readonly delayMs?: number;
  /** Tries of the schedule used since it was stored or resent. */
  readonly tries: number;
  /** Oldest first; only the last ones are kept. */
  readonly attempts: readonly Attempt[];
  /** Why it ended, unless it was sent. */
  readonly reason?: string;
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
};

/** The effect of a try. `delay`: milliseconds from now; `isTry`: whether it uses up a try of the schedule, as it does by default. */
export type Outcome<Sent extends string> =
  | { readonly state: Sent }
  | { readonly state: 'Pending'; readonly delay: number; readonly isTry?: boolean }
  | { readonly state: 'Failed'; readonly reason: string };

const DAY_MS = 24 * 3_600_000;
/** How long records are kept after they have ended (docs/guides/webhooks.md#retries). */
export const RETENTION_MS = 30 * DAY_MS;
/** Maximum clock difference between two processes. */
const CLOCK_SLACK_MS = 1_000;

/** The progress of something new. @param keptMs how long it is kept: longer than it can be pending */
export const untried = (now: number, keptMs: number): Progress<'Pending', never> => ({
  state: 'Pending',
  due: toTimestamp(now),
  tries: 0,
  attempts: [],
  createdAt: toTimestamp(now),
  expiresAt: toTimestamp(now + keptMs),
});

export const dueIn = (delayMs: number, now: number): Required<Pick<Progress, 'due' | 'delayMs'>> => ({
  due: toTimestamp(now + delayMs),
  delayMs,
});

/**
 * Whether a due time is plausible: at most its delay ahead. One further ahead comes from a wrong clock, here or in the process that stored it;
 * a machine alone on embedded engines has nothing to compare its clock with (docs/decisions/time.md).
 */
export const isDueTrusted = ({ due, delayMs = 0 }: Pick<Progress, 'due' | 'delayMs'>, now: number): boolean =>
  Date.parse(due) - now <= delayMs + CLOCK_SLACK_MS;

/** Due now, if it is pending and its due time is not plausible. Otherwise undefined. */
export const dueCorrected = <R extends Progress>(record: R, now: number): R | undefined =>
  record.state === 'Pending' && !isDueTrusted(record, now) ? { ...record, due: toTimestamp(now) } : undefined;

/** After attempts with this outcome. That it was sent always counts; a failure changes only the state of what is still pending. */
export function afterAttempts<R extends Progress>(
  record: R,
  attempts: R['attempts'],
  outcome: Outcome<R['state']>,
  { now, kept }: { readonly now: number; readonly kept: number },
): R {
  const attempted = { ...record, attempts: [...record.attempts, ...attempts].slice(-kept) };
  const isSent = !('delay' in outcome || 'reason' in outcome);
  if (record.state !== 'Pending' && !isSent) return attempted;
  const tries = record.tries + ('delay' in outcome && outcome.isTry === false ? 0 : 1);
  if ('delay' in outcome) return { ...attempted, tries, ...dueIn(outcome.delay, now) };
  return { ...ended(without(attempted, 'reason'), outcome, now), tries };
}

/** Ended before it was sent. Undefined if it is not pending. */
export const endedEarly = <R extends Progress>(
  record: R,
  how: { readonly state: R['state']; readonly reason: string },
  now: number,
): R | undefined => (record.state === 'Pending' ? ended(record, how, now) : undefined);

/** With a full schedule ahead of it, from any state. */
export const restarted = <R extends Progress>(record: R, due: Timestamp, now: number, keptMs: number): R => ({
  ...without(record, 'reason', 'delayMs'),
  state: 'Pending',
  due,
  tries: 0,
  expiresAt: toTimestamp(now + keptMs),
});

const ended = <R extends Progress>(record: R, how: Pick<Progress, 'state' | 'reason'>, now: number): R => ({
  ...record,
  ...how,
  due: toTimestamp(now),
  expiresAt: toTimestamp(now + RETENTION_MS),
});

/** A copy without some fields, which must be optional. */
function without<R extends Progress>(record: R, ...fields: readonly ('reason' | 'delayMs')[]): R {
  const copy = { ...record };
  for (const field of fields) delete copy[field];
  return copy;
}
