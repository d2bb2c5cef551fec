import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AttemptResult,
  afterAttempt,
  classOf,
  FIRST_WINDOW,
  inFlightLimit,
  MAX_PAUSE_MS,
  MAX_WINDOW,
  mayTry,
  nextWindow,
  OPENS_AFTER,
  type ReceiverHealth,
  SLOW_START_MS,
  slowStartWait,
  UNKNOWN,
  withoutFailures,
} from '../../src/webhooks/receiver-health.ts';
import { PLANNED_DELAYS_MS } from '../../src/webhooks/schedule.ts';

const NOW = Date.parse('2026-04-20T10:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The middle of the jitter. */
const at = (running: number) => ({ now: NOW + running, running, random: 0.5 });
const attempt = (result: Partial<AttemptResult> = {}): AttemptResult => ({
  isSuccess: false,
  pace: 'prompt',
  isProbe: false,
  isTest: false,
  ...result,
});
const fail = (health: ReceiverHealth, running = 0, result: Partial<AttemptResult> = { nextInMs: 5_000 }) =>
  afterAttempt(health, attempt(result), at(running));
const succeed = (health: ReceiverHealth, running = 0, pace: 'prompt' | 'slow' = 'prompt') =>
  afterAttempt(health, attempt({ isSuccess: true, pace }), at(running));
const failTimes = (health: ReceiverHealth, times: number): ReceiverHealth =>
  Array.from({ length: times }).reduce<ReceiverHealth>((failing) => fail(failing), health);

/** Possible events of a receiver, and the delay since the previous one. */
type Step = { readonly afterMs: number; readonly result: AttemptResult; readonly random: number };
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.nat(20_000), fc.nat(2 * HOUR_MS)),
    random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    result: fc.record(
      {
        isSuccess: fc.boolean(),
        pace: fc.constantFrom('prompt' as const, 'slow' as const),
        isProbe: fc.boolean(),
        isTest: fc.boolean(),
        nextInMs: fc.nat(Math.max(...PLANNED_DELAYS_MS)),
      },
      { requiredKeys: ['isSuccess', 'pace', 'isProbe', 'isTest'] },
    ),
  }),
  { maxLength: 60, size: 'max' },
);

/** The health after each step. Only an open breaker has probes. */
function* through(happened: readonly Step[], from = UNKNOWN) {
  let health = from;
  let running = 0;
  for (const { afterMs, result, random } of happened) {
    running += afterMs;
    const before = health;
    const now = NOW + running;
    const isProbe = result.isProbe && before.breaker?.state === 'open' && mayTry(before, now);
    const made = { ...result, isProbe };
    health = afterAttempt(before, made, { now, running, random });
    yield { before, health, result: made, running, now };
  }
}

describe('after any sequence of events, a receiver', () => {
  test('has an open breaker exactly after five consecutive counted failures, until a success', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        let inARow = 0;
        let isOpen = false;
        for (const { health, result } of through(happened)) {
          if (result.isSuccess) inARow = 0;
          else if (!result.isTest) inARow += 1;
          isOpen = result.isSuccess ? false : isOpen || inARow >= OPENS_AFTER;
          expect(health.failures).toBe(inARow);
          expect(health.breaker?.state === 'open').toBe(isOpen);
        }
      }),
    );
  });

  test('extends its pause only after a failed probe, doubling it up to ten minutes', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        for (const { before, health, result, now } of through(happened)) {
          if (before.breaker?.state !== 'open' || health.breaker?.state !== 'open') continue;
          if (!result.isProbe || result.isTest) expect(health.breaker).toEqual(before.breaker);
          else {
            const planned = Math.min(2 * before.breaker.pauseMs, MAX_PAUSE_MS);
            expect(health.breaker.pauseMs).toBeGreaterThanOrEqual(Math.floor(0.8 * planned));
            expect(health.breaker.pauseMs).toBeLessThanOrEqual(Math.ceil(1.2 * planned));
            expect(Date.parse(health.breaker.probeAt)).toBe(now + health.breaker.pauseMs);
            expect(health.breaker.since).toBe(before.breaker.since);
          }
        }
      }),
    );
  });

  test('gets another try within twelve minutes when it is down, for any change of the clock', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: -HOUR_MS, max: HOUR_MS }), (happened, shift) => {
        for (const { health, now } of through(happened)) {
          const tries = Array.from({ length: 13 }, (_, minutes) => mayTry(health, now + shift + minutes * MINUTE_MS));
          expect(tries).toContain(true);
        }
      }),
    );
  });

  test('has a slow start of at most ten seconds, and a wait of at most a fifth of a second', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: -HOUR_MS, max: HOUR_MS }), (happened, shift) => {
        for (const { health, now } of through(happened)) {
          const wait = slowStartWait(health, now, now + shift);
          expect(wait).toBeGreaterThanOrEqual(0);
          expect(wait).toBeLessThanOrEqual(200);
          if (health.breaker?.state !== 'recovering') expect(wait).toBe(0);
          expect(slowStartWait(health, now + SLOW_START_MS, now + SLOW_START_MS)).toBe(0);
        }
      }),
    );
  });

  test('counts as failing no longer than it was tried, and not at all after a success', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        let firstFailure: number | undefined;
        for (const { health, result, running } of through(happened)) {
          if (result.isSuccess) firstFailure = undefined;
          else if (!result.isTest) firstFailure ??= running;
          expect(health.failingMs).toBeGreaterThanOrEqual(0);
          expect(health.failingMs).toBeLessThanOrEqual(firstFailure === undefined ? 0 : running - firstFailure);
        }
      }),
    );
  });

  test('has between one and four attempts in flight, and one while its breaker is open', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        let window = FIRST_WINDOW;
        for (const { health, result } of through(happened)) {
          window = nextWindow(window, result.isSuccess);
          const limit = inFlightLimit(health, window);
          expect(limit).toBeGreaterThanOrEqual(1);
          expect(limit).toBeLessThanOrEqual(health.breaker?.state === 'open' ? 1 : MAX_WINDOW);
        }
      }),
    );
  });

  test('becomes healthy after it recovers, and then stays the same object, so that nothing is written for it', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        const { health, running } = [...through(happened)].at(-1) ?? { health: UNKNOWN, running: 0 };
        const recovering = succeed(succeed(health, running), running);
        const recovered = succeed(recovering, running + SLOW_START_MS);
        expect(recovered).toEqual({ pace: 'prompt', failures: 0, failingMs: 0 });
        expect(succeed(recovered, running + SLOW_START_MS)).toBe(recovered);
        expect(withoutFailures(recovered)).toBe(recovered);
      }),
    );
  });
});

test('four failures leave the breaker closed, a fifth opens it for five seconds', () => {
  const almost = failTimes(UNKNOWN, OPENS_AFTER - 1);
  expect(almost.breaker).toBeUndefined();
  const open = fail(almost);
  expect(open).toMatchObject({ failures: 5, breaker: { state: 'open', pauseMs: 5_000 } });
  expect(mayTry(open, NOW + 1_000)).toBe(false);
  expect(mayTry(open, NOW + 5_000)).toBe(true);
  // A pause that ends this far ahead cannot be right, so it does not count.
  expect(mayTry(open, NOW - HOUR_MS)).toBe(true);
});

test('a success starts a recovery; five failures during it reopen the breaker with a longer pause', () => {
  const recovering = succeed(failTimes(UNKNOWN, OPENS_AFTER), 7_000);
  expect(recovering).toMatchObject({
    failures: 0,
    breaker: { state: 'recovering', since: '2026-04-20T10:00:07.000Z' },
  });
  expect(failTimes(recovering, OPENS_AFTER - 1).breaker?.state).toBe('recovering');
  expect(failTimes(recovering, OPENS_AFTER).breaker).toMatchObject({ state: 'open', pauseMs: 10_000 });
  expect(succeed(recovering, 8_000)).toBe(recovering);
  expect(succeed(recovering, 18_000).breaker).toBeUndefined();
});

test('a failed test delivery changes only the pace, a successful one counts', () => {
  const open = failTimes(UNKNOWN, OPENS_AFTER);
  expect(fail(open, 0, { isTest: true })).toBe(open);
  const succeeded = afterAttempt(open, attempt({ isTest: true, isSuccess: true }), at(0));
  expect(succeeded.breaker?.state).toBe('recovering');
});

test('a prompt receiver may have one slow success, but not two, and no failure', () => {
  const prompt = succeed(UNKNOWN);
  const once = succeed(prompt, 0, 'slow');
  expect(once.pace).toBe('prompt');
  expect(succeed(once, 0, 'slow').pace).toBe('slow');
  expect(succeed(once)).toEqual(prompt);
  expect(fail(prompt, 0, { pace: 'slow' }).pace).toBe('slow');
  expect(succeed(UNKNOWN, 0, 'slow').pace).toBe('slow');
  expect(succeed(succeed(UNKNOWN, 0, 'slow')).pace).toBe('prompt');
});

test('a slow receiver that failed does not share permits with working ones', () => {
  expect(classOf(UNKNOWN)).toBe('unknown');
  expect(classOf(failTimes(succeed(UNKNOWN), 3))).toBe('prompt');
  const slow = succeed(UNKNOWN, 0, 'slow');
  expect(classOf(slow)).toBe('slow');
  const hanging = fail(slow, 0, { pace: 'slow' });
  expect(classOf(hanging)).toBe('hanging');
  expect(classOf(succeed(hanging, 0, 'slow'))).toBe('slow');
});

describe('the failing time of a receiver', () => {
  test('adds up between failures while deliveries are pending', () => {
    let health = fail(UNKNOWN, 0, { nextInMs: 2 * HOUR_MS });
    expect(health.failingMs).toBe(0);
    health = fail(health, 2 * HOUR_MS, { nextInMs: 5 * HOUR_MS });
    health = fail(health, 7 * HOUR_MS, { nextInMs: 10 * HOUR_MS });
    expect(health.failingMs).toBe(7 * HOUR_MS);
    expect(succeed(health, 8 * HOUR_MS).failingMs).toBe(0);
  });

  test('excludes periods without pending deliveries', () => {
    const last = fail(UNKNOWN, 0, {});
    expect(fail(last, 96 * HOUR_MS).failingMs).toBe(MINUTE_MS);
  });

  test('ignores a running time that an older backup has set back', () => {
    const failed = fail(UNKNOWN, 10 * HOUR_MS, { nextInMs: HOUR_MS });
    expect(fail(failed, HOUR_MS, {}).failingMs).toBe(0);
  });
});

test('the slow start allows 5 attempts in the first second, doubles every second, and ends after ten', () => {
  const recovering = succeed(failTimes(UNKNOWN, OPENS_AFTER));
  let now = NOW;
  let lastAt = Number.NEGATIVE_INFINITY;
  const perSecond: number[] = [];
  for (let second = 0; second < 6; second++) {
    let attempts = 0;
    while (now < NOW + (second + 1) * 1_000) {
      if (slowStartWait(recovering, lastAt, now) === 0) {
        lastAt = now;
        attempts += 1;
      } else now += 1;
    }
    perSecond.push(attempts);
  }
  for (const [second, attempts] of perSecond.entries()) {
    expect(attempts).toBeGreaterThan(4 * 2 ** second);
    expect(attempts).toBeLessThanOrEqual(5 * 2 ** (second + 1));
  }
  // A failure halves the rate.
  const failed = fail(recovering, 6_000);
  expect(slowStartWait(failed, now, now)).toBeCloseTo(2 * slowStartWait(recovering, now, now));
  expect(slowStartWait(recovering, now, NOW + SLOW_START_MS)).toBe(0);
});
