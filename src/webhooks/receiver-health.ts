import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';

/**
 * The health of the receiver of a registration, and how an attempt changes it: circuit breaker, response time, time failing, and slow
 * start (docs/decisions/webhook-deliveries.md). Pure: the caller passes the time.
 */

/** Failures in a row that open the breaker. */
export const OPENS_AFTER = 5;
/** The pause before the first probe; it doubles with each probe that fails, up to {@link MAX_PAUSE_MS}. */
const FIRST_PAUSE_MS = 5_000;
export const MAX_PAUSE_MS = 10 * 60_000;
/** Jitter, so that the probes of receivers that failed together spread out. */
const JITTER = 0.2;
/** The time until a planned try counts as failing, if the try begins at most this much later than planned. */
const GRACE_MS = 60_000;

/** Attempts per second when a probe has just succeeded. They double every second. */
const FIRST_RATE = 5;
const DOUBLES_EVERY_MS = 1_000;
/** After this time, at more than 5,000 attempts per second, the slow start ends. */
export const SLOW_START_MS = 10_000;

/** Attempts in flight to one receiver: each round of successes adds one, and each failure halves them. */
export const FIRST_WINDOW = 2;
export const MAX_WINDOW = 4;

type Pace = 'prompt' | 'slow';

/** A breaker that is not closed. */
type Breaker = {
  /** `open`: one delivery is tried at a time, at `probeAt`. `recovering`: a probe has succeeded, and the rate increases. */
  readonly state: 'open' | 'recovering';
  /** When this state began. A failure while recovering moves it forward, which halves the rate. */
  readonly since: Timestamp;
  /** When the next probe is due. */
  readonly probeAt: Timestamp;
  /** The pause before that probe, in milliseconds: `probeAt` is never trusted further ahead. */
  readonly pauseMs: number;
};

export type ReceiverHealth = {
  /** Whether the receiver answers within `slowAfterMs`. Absent until the first attempt. */
  readonly pace?: Pace;
  /** The receiver is prompt, but its last answer was slow. */
  readonly lapsed?: true;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** Absent while the breaker is closed. */
  readonly breaker?: Breaker;
  /** Running time since the first of these failures, in milliseconds, counting only time with attempts. */
  readonly failingMs: number;
  /** Running time of the last failure. Absent if there is none since the last success. */
  readonly failedAt?: number;
  /** Running time of the latest planned try. */
  readonly plannedUntil?: number;
};

/** A receiver that has not been tried. */
export const UNKNOWN: ReceiverHealth = { failures: 0, failingMs: 0 };

/** The class of a receiver; `unknown` until it has been tried. `hanging`: it is slow, and its last attempt failed. */
export type ReceiverClass = Pace | 'unknown' | 'hanging';

/** Which receivers it shares its permits with. */
export const classOf = ({ pace, failures }: ReceiverHealth): ReceiverClass =>
  pace === 'slow' && failures > 0 ? 'hanging' : (pace ?? 'unknown');

export type Moment = {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Running time (`running-time.ts`), in milliseconds. */
  readonly running: number;
  /** In [0, 1). */
  readonly random: number;
};

/** The result of an attempt, as far as it concerns the receiver. */
export type AttemptResult = {
  readonly isSuccess: boolean;
  readonly pace: Pace;
  /** It was the one attempt that an open breaker let through at its time. */
  readonly isProbe: boolean;
  /** A test delivery. Its success counts, its failure does not. */
  readonly isTest: boolean;
  /** When this delivery is tried again, in milliseconds from now; absent if it is not. */
  readonly nextInMs?: number;
};

/** The health after an attempt: the same object if unchanged, so that a healthy receiver costs no write. */
export function afterAttempt(health: ReceiverHealth, attempt: AttemptResult, moment: Moment): ReceiverHealth {
  const answered = withPace(health, attempt);
  if (attempt.isSuccess) return afterSuccess(answered, moment.now);
  return attempt.isTest ? answered : afterFailure(answered, attempt, moment);
}

/** Whether a delivery that no user requested may be attempted now. */
export function mayTry({ breaker }: ReceiverHealth, now: number): boolean {
  if (breaker?.state !== 'open') return true;
  const wait = Date.parse(breaker.probeAt) - now;
  return wait <= 0 || wait > breaker.pauseMs;
}

/** How many attempts may be in flight for this `window`. */
export const inFlightLimit = ({ breaker }: ReceiverHealth, window: number): number =>
  breaker?.state === 'open' ? 1 : Math.floor(window);

export const nextWindow = (window: number, isSuccess: boolean): number =>
  isSuccess ? Math.min(MAX_WINDOW, window + 1 / window) : Math.max(1, window / 2);

/**
 * How long the next attempt to a recovering receiver waits, in milliseconds, so that a backlog does not overload it again.
 * @param lastAt when the last attempt began, in milliseconds since the epoch
 */
export function slowStartWait({ breaker }: ReceiverHealth, lastAt: number, now: number): number {
  if (breaker?.state !== 'recovering' || isSlowStartOver(breaker, now)) return 0;
  const gapMs = 1_000 / (FIRST_RATE * 2 ** ((now - Date.parse(breaker.since)) / DOUBLES_EVERY_MS));
  // A clock that is set back does not lengthen the wait.
  return Math.max(0, Math.min(gapMs, lastAt + gapMs - now));
}

/** Holds even if the clock was set back to before its beginning. */
function isSlowStartOver({ since }: Breaker, now: number): boolean {
  const elapsed = now - Date.parse(since);
  return elapsed < 0 || elapsed >= SLOW_START_MS;
}

/**
 * Updates the class of the receiver. A prompt receiver stays prompt after one slow success, because the cause may have been on our side,
 * and slow receivers may wait long.
 */
function withPace(health: ReceiverHealth, { pace, isSuccess }: AttemptResult): ReceiverHealth {
  if (health.pace === pace && health.lapsed === undefined) return health;
  const { lapsed = false, ...others } = health;
  return pace === 'slow' && health.pace === 'prompt' && isSuccess && !lapsed
    ? { ...health, lapsed: true }
    : { ...others, pace };
}

function afterSuccess(health: ReceiverHealth, now: number): ReceiverHealth {
  const { breaker } = health;
  if (breaker === undefined) return withoutFailures(health);
  if (breaker.state === 'open')
    return { ...healthy(health), breaker: { ...breaker, state: 'recovering', since: toTimestamp(now) } };
  if (isSlowStartOver(breaker, now)) return healthy(health);
  return isSpotless(health) ? health : { ...healthy(health), breaker };
}

function afterFailure(
  health: ReceiverHealth,
  { isProbe, nextInMs = 0 }: AttemptResult,
  moment: Moment,
): ReceiverHealth {
  const { running } = moment;
  const { failedAt = running, plannedUntil = running } = health;
  // Time without attempts does not count.
  const tried = Math.max(0, Math.min(running, plannedUntil + GRACE_MS) - failedAt);
  const failures = health.failures + 1;
  const breaker = breakerAfterFailure(health.breaker, failures, isProbe, moment);
  const planned = Math.max(nextInMs, breaker?.state === 'open' ? breaker.pauseMs : 0);
  return {
    ...defined({ pace: health.pace, breaker }),
    failures,
    failingMs: health.failingMs + tried,
    failedAt: running,
    plannedUntil: Math.max(plannedUntil, running + planned),
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
  // Attempts that were under way when it opened, and tests that are sent meanwhile, do not stretch the pause.
  if (breaker?.state === 'open') return isProbe ? open(breaker.since, 2 * breaker.pauseMs) : breaker;
  if (failures >= OPENS_AFTER)
    return open(toTimestamp(now), breaker === undefined ? FIRST_PAUSE_MS : 2 * breaker.pauseMs);
  return breaker && { ...breaker, since: toTimestamp(Math.min(now, Date.parse(breaker.since) + DOUBLES_EVERY_MS)) };
}

/** The health once the registration is enabled again: what is known of its pace stays. */
export const withoutFailures = (health: ReceiverHealth): ReceiverHealth =>
  health.breaker === undefined && isSpotless(health) ? health : healthy(health);

const healthy = ({ pace, lapsed }: ReceiverHealth): ReceiverHealth => ({ ...UNKNOWN, ...defined({ pace, lapsed }) });
const isSpotless = ({ failures, failedAt }: ReceiverHealth): boolean => failures === 0 && failedAt === undefined;
