import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { timestamp } from '../../src/domain/ids.ts';
import {
  type AttemptResult,
  afterAttempt,
  type Breaker,
  CLOSED,
  DISABLE_AFTER_PROBES,
  isLongDead,
  MAX_PAUSE_MS,
  mayTry,
  mayTryAt,
  OPENS_AFTER,
} from '../../src/webhooks/breaker.ts';

const NOW = Date.parse('2026-04-20T10:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Possible events of an endpoint, and the delay since the previous one. */
type Step = { readonly afterMs: number; readonly result: AttemptResult; readonly random: number };
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.nat(20_000), fc.nat(2 * HOUR_MS)),
    random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    result: fc.record({ isSuccess: fc.boolean(), isProbe: fc.boolean(), isTest: fc.boolean() }),
  }),
  { maxLength: 60, size: 'max' },
);

/** The breaker after each step. Only an open one has probes. */
function* through(happened: readonly Step[]) {
  let breaker = CLOSED;
  let now = NOW;
  for (const { afterMs, result, random } of happened) {
    now += afterMs;
    const before = breaker;
    const made = { ...result, isProbe: result.isProbe && before.open !== undefined && mayTry(before, now) };
    breaker = afterAttempt(before, made, { now, random });
    yield { before, breaker, result: made, now };
  }
}

describe('after any sequence of events, a breaker', () => {
  test('is open exactly after five consecutive counted failures, until a success', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        let inARow = 0;
        for (const { breaker, result } of through(happened)) {
          if (result.isSuccess) inARow = 0;
          else if (!result.isTest) inARow += 1;
          expect(breaker.failures).toBe(inARow);
          expect(breaker.open !== undefined).toBe(inARow >= OPENS_AFTER);
        }
      }),
    );
  });

  test('extends its pause only after a failed probe, doubling it up to ten minutes', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        for (const { before, breaker, result, now } of through(happened)) {
          if (before.open === undefined || breaker.open === undefined) continue;
          if (!result.isProbe || result.isTest) expect(breaker.open).toEqual(before.open);
          else {
            const { pauseMs, probeAt } = breaker.open;
            expect(pauseMs).toBe(Math.min(2 * before.open.pauseMs, MAX_PAUSE_MS));
            expect(Math.abs(Date.parse(probeAt) - now - pauseMs)).toBeLessThanOrEqual(0.2 * pauseMs);
            expect(breaker.open.since).toBe(before.open.since);
            expect(breaker.open.failedProbes).toBe(before.open.failedProbes + 1);
          }
        }
      }),
    );
  });

  test('lets another try through within twelve minutes, for any change of the clock', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: -HOUR_MS, max: HOUR_MS }), (happened, shift) => {
        for (const { breaker, now } of through(happened)) {
          const tries = Array.from({ length: 13 }, (_, minutes) => mayTry(breaker, now + shift + minutes * MINUTE_MS));
          expect(tries).toContain(true);
        }
      }),
    );
  });

  test('is the same object after a success of an endpoint that has not failed', () => {
    const success = { isSuccess: true, isProbe: false, isTest: false };
    expect(afterAttempt(CLOSED, success, { now: NOW, random: 0.5 })).toBe(CLOSED);
  });
});

test('720 failed probes in a row take about five days, and a success starts the count again', () => {
  const failure = { isSuccess: false, isProbe: true, isTest: false };
  let now = NOW;
  let breaker: Breaker = CLOSED;
  while (!isLongDead(breaker)) {
    now = Math.max(now, mayTryAt(breaker, now));
    breaker = afterAttempt(breaker, failure, { now, random: 0.5 });
  }
  expect(breaker.open?.failedProbes).toBe(DISABLE_AFTER_PROBES);
  expect((now - NOW) / (24 * HOUR_MS)).toBeGreaterThan(4.9);
  expect((now - NOW) / (24 * HOUR_MS)).toBeLessThan(5.1);
  expect(afterAttempt(breaker, { ...failure, isSuccess: true }, { now, random: 0.5 })).toBe(CLOSED);
});

test('it opens with the fifth failure for five seconds, and pauses of ten minutes are the longest', () => {
  const failure = { isSuccess: false, isProbe: true, isTest: false };
  const pauses: (number | undefined)[] = [];
  let breaker: Breaker = CLOSED;
  for (let n = 0; n < 14; n += 1) {
    breaker = afterAttempt(breaker, failure, { now: NOW, random: 0.5 });
    pauses.push(breaker.open?.pauseMs);
    expect(breaker.open?.failedProbes).toBe(n < 4 ? undefined : n - 4);
  }
  const seconds = [undefined, undefined, undefined, undefined, 5, 10, 20, 40, 80, 160, 320, 600, 600, 600];
  expect(pauses).toEqual(seconds.map((each) => each && each * 1_000));
});

test('a probe is trusted as far ahead as its pause with its jitter', () => {
  const open = { since: timestamp(new Date(NOW).toISOString()), pauseMs: 10_000, failedProbes: 0 };
  const probeIn = (ms: number): Breaker => ({
    failures: 5,
    open: { ...open, probeAt: timestamp(new Date(NOW + ms).toISOString()) },
  });
  expect(mayTryAt(probeIn(12_000), NOW)).toBe(NOW + 12_000);
  expect(mayTryAt(probeIn(12_001), NOW)).toBe(NOW);
});

test('after 720 failed probes an endpoint is given up', () => {
  const open = {
    since: timestamp(new Date(NOW).toISOString()),
    probeAt: timestamp(new Date(NOW).toISOString()),
    pauseMs: 1,
  };
  expect(isLongDead(CLOSED)).toBe(false);
  expect(isLongDead({ failures: 724, open: { ...open, failedProbes: 719 } })).toBe(false);
  expect(isLongDead({ failures: 725, open: { ...open, failedProbes: 720 } })).toBe(true);
});
