import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { JITTER, jittered } from '../outbox/schedule.ts';

/**
 * The circuit breaker of an endpoint, and how an attempt changes it (docs/decisions/webhook-deliveries.md). Pure: the caller passes the
 * time.
 */

/** Failures in a row that open it. */
export const OPENS_AFTER = 5;
/** The pause before the first probe; it doubles with each probe that fails, up to {@link MAX_PAUSE_MS}. */
const FIRST_PAUSE_MS = 5_000;
export const MAX_PAUSE_MS = 10 * 60_000;
/** A registration is disabled after so many failed probes in a row. Most follow a pause of ten minutes, so they take about five days or longer. */
export const DISABLE_AFTER_PROBES = 720;

/** While it is open, one delivery at a time is tried, at `probeAt`. */
type Open = {
  readonly since: Timestamp;
  /** When the next probe is due. */
  readonly probeAt: Timestamp;
  /** The planned pause before that probe, in milliseconds: `probeAt` is never trusted further ahead, jitter included. */
  readonly pauseMs: number;
  /** Probes that have failed since it opened. */
  readonly failedProbes: number;
};

export type Breaker = {
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** Absent while it is closed. */
  readonly open?: Open;
};

/** The breaker of an endpoint whose last attempt succeeded, or that has not been tried. */
export const CLOSED: Breaker = { failures: 0 };

/** The result of an attempt, as far as it concerns the endpoint. */
export type AttemptResult = {
  readonly isSuccess: boolean;
  /** It was the one attempt that an open breaker let through at its time. */
  readonly isProbe: boolean;
  /** A test delivery. Its success counts, its failure does not. */
  readonly isTest: boolean;
};

/** The breaker after an attempt: the same object if unchanged. */
export function afterAttempt(
  breaker: Breaker,
  { isSuccess, isProbe, isTest }: AttemptResult,
  /** Milliseconds since the epoch, and a number in [0, 1). */
  { now, random }: { readonly now: number; readonly random: number },
): Breaker {
  if (isSuccess) return breaker.failures === 0 ? breaker : CLOSED;
  if (isTest) return breaker;
  const failures = breaker.failures + 1;
  return { failures, ...defined({ open: openAfterFailure(breaker.open, failures, isProbe, now, random) }) };
}

function openAfterFailure(
  open: Open | undefined,
  failures: number,
  isProbe: boolean,
  now: number,
  random: number,
): Open | undefined {
  const paused = (since: Timestamp, planned: number, failedProbes: number): Open => {
    const pauseMs = Math.min(planned, MAX_PAUSE_MS);
    return { since, pauseMs, probeAt: toTimestamp(now + Math.round(jittered(pauseMs, random))), failedProbes };
  };
  if (open === undefined) return failures >= OPENS_AFTER ? paused(toTimestamp(now), FIRST_PAUSE_MS, 0) : undefined;
  // Attempts that were under way when it opened do not stretch the pause.
  return isProbe ? paused(open.since, 2 * open.pauseMs, open.failedProbes + 1) : open;
}

/** When a delivery that no user requested may be attempted, in milliseconds since the epoch: at `now` at the latest if it may be now. */
export function mayTryAt({ open }: Breaker, now: number): number {
  if (open === undefined) return now;
  const at = Date.parse(open.probeAt);
  // Further ahead than the pause: the clock was set back.
  return at - now > open.pauseMs * (1 + JITTER) ? now : at;
}

export const mayTry = (breaker: Breaker, now: number): boolean => mayTryAt(breaker, now) <= now;

export const isLongDead = ({ open }: Breaker): boolean => (open?.failedProbes ?? 0) >= DISABLE_AFTER_PROBES;
