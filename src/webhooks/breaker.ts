import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { ReceiverClass } from './in-flight.ts';

/**
 * What is known of the receiver of a registration, and what an attempt adds to it: its circuit breaker, how promptly it answers
 * and for how long it has been failing (docs/decisions/webhook-deliveries.md). Pure: the times come in.
 */

/** Failures in a row that open the breaker. */
export const OPENS_AFTER = 5;
/** The pause before the first probe; it doubles with each probe that fails, up to {@link MAX_PAUSE_MS}. */
const FIRST_PAUSE_MS = 5_000;
export const MAX_PAUSE_MS = 10 * 60_000;
/** So that the probes of receivers that failed together spread out. */
const JITTER = 0.2;
/** How much longer than planned a try may take to begin and still count as one that was waited for. */
const GRACE_MS = 60_000;

/** A breaker that is not closed. */
type Breaker = {
  /** `open`: one delivery at a time is tried, at `probeAt`. `recovering`: a probe has succeeded, and the pace picks up. */
  readonly state: 'open' | 'recovering';
  readonly since: Timestamp;
  /** When the next probe is due. */
  readonly probeAt: Timestamp;
  /** The pause before that probe, in milliseconds: `probeAt` is never believed further ahead. */
  readonly pauseMs: number;
};

export type ReceiverState = {
  /** How attempts are answered: within `slowAfterMs` or not. Absent until the first one. */
  readonly pace?: 'prompt' | 'slow';
  /** It is prompt, but its last answer was slow. */
  readonly lapsed?: true;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** Absent while it is closed. */
  readonly breaker?: Breaker;
  /** The time in which it was tried since the first of these failures, in milliseconds of running time. */
  readonly failingMs: number;
  /** Running time of the last failure. Absent if there is none since the last success. */
  readonly failedAt?: number;
  /** Running time until which a further try is planned. */
  readonly plannedUntil?: number;
};

/** A receiver of which nothing is known. */
export const UNKNOWN: ReceiverState = { failures: 0, failingMs: 0 };

/** Which receivers it shares its permits with. */
export const classOf = ({ pace, failures }: ReceiverState): ReceiverClass =>
  pace === 'slow' && failures > 0 ? 'hanging' : (pace ?? 'unknown');

/** Whether nothing is known of a receiver but that it answers promptly: what is new may be sent to it before it is stored. */
export const isReliable = ({ pace, lapsed, failures, breaker }: ReceiverState): boolean =>
  pace === 'prompt' && lapsed === undefined && failures === 0 && breaker === undefined;

export type Moment = {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** {@link RunningTime}, milliseconds. */
  readonly running: number;
  /** In [0, 1). */
  readonly random: number;
};

/** Whether a delivery may be attempted at this moment without having been asked for. */
export function mayTry({ breaker }: ReceiverState, now: number): boolean {
  if (breaker?.state !== 'open') return true;
  const wait = Date.parse(breaker.probeAt) - now;
  return wait <= 0 || wait > breaker.pauseMs;
}

/**
 * Notes how promptly an attempt was answered. A prompt receiver is forgiven one slow success: the slow ones may wait for long, and
 * the cause may have been on our side.
 */
export function answered(state: ReceiverState, pace: 'prompt' | 'slow', isSuccess: boolean): ReceiverState {
  if (state.pace === pace && state.lapsed === undefined) return state;
  const { lapsed = false, ...others } = state;
  return pace === 'slow' && state.pace === 'prompt' && isSuccess && !lapsed
    ? { ...state, lapsed: true }
    : { ...others, pace };
}

/** @param recovered whether the slow start after a probe is over */
export function afterSuccess(state: ReceiverState, recovered: boolean, now: number): ReceiverState {
  const { breaker } = state;
  if (breaker === undefined) return forgiven(state);
  if (breaker.state === 'open')
    return { ...healthy(state), breaker: { ...breaker, state: 'recovering', since: toTimestamp(now) } };
  if (recovered) return healthy(state);
  return isSpotless(state) ? state : { ...healthy(state), breaker };
}

/**
 * @param attempt.isProbe it was the one attempt that an open breaker let through at its time
 * @param attempt.nextInMs when this delivery is tried again; absent if it is not
 */
export function afterFailure(
  state: ReceiverState,
  attempt: { readonly isProbe: boolean; readonly nextInMs?: number },
  moment: Moment,
): ReceiverState {
  const { running } = moment;
  const { failedAt = running, plannedUntil = running } = state;
  // Time in which nothing was left to try does not count.
  const tried = Math.max(0, Math.min(running, plannedUntil + GRACE_MS) - failedAt);
  const failures = state.failures + 1;
  const breaker = breakerAfterFailure(state.breaker, failures, attempt.isProbe, moment);
  const nextInMs = Math.max(attempt.nextInMs ?? 0, breaker?.state === 'open' ? breaker.pauseMs : 0);
  return {
    ...defined({ pace: state.pace, breaker }),
    failures,
    failingMs: state.failingMs + tried,
    failedAt: running,
    plannedUntil: Math.max(plannedUntil, running + nextInMs),
  };
}

function breakerAfterFailure(
  breaker: Breaker | undefined,
  failures: number,
  isProbe: boolean,
  { now, random }: Moment,
): Breaker | undefined {
  const open = (since: Timestamp, planned: number): Breaker => {
    const pauseMs = Math.round(Math.min(planned, MAX_PAUSE_MS) * (1 - JITTER + 2 * JITTER * random));
    return { state: 'open', since, pauseMs, probeAt: toTimestamp(now + pauseMs) };
  };
  // Attempts that were under way when it opened, and tests that somebody sends meanwhile, do not stretch the pause.
  if (breaker?.state === 'open') return isProbe ? open(breaker.since, 2 * breaker.pauseMs) : breaker;
  if (failures < OPENS_AFTER) return breaker;
  return open(toTimestamp(now), breaker === undefined ? FIRST_PAUSE_MS : 2 * breaker.pauseMs);
}

/** Nothing that it did until now counts any more. */
export const forgiven = (state: ReceiverState): ReceiverState =>
  state.breaker === undefined && isSpotless(state) ? state : healthy(state);

const healthy = ({ pace, lapsed }: ReceiverState): ReceiverState => ({ ...UNKNOWN, ...defined({ pace, lapsed }) });
const isSpotless = ({ failures, failedAt }: ReceiverState): boolean => failures === 0 && failedAt === undefined;
