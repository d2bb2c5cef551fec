import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayBeforeNext, PLANNED_DELAYS_MS } from '../../src/outbox/schedule.ts';

const MIDDLE = 0.5;

test('ten tries: immediately, then after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 5 h, 10 h and 14 h', () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((tries) => delayBeforeNext(tries, undefined, MIDDLE));
  expect(delays.map((delay) => (delay ?? Number.NaN) / 1_000)).toEqual([
    0, 5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400,
  ]);
  expect(delayBeforeNext(10, undefined, MIDDLE)).toBeUndefined();
  expect(delayBeforeNext(10, 60_000, MIDDLE)).toBeUndefined();
});

test('each delay has a jitter of at most 20 % in either direction', () => {
  expect(delayBeforeNext(3, undefined, 0)).toBe(96_000);
  expect(delayBeforeNext(3, undefined, 0.999_999_9)).toBe(144_000);
});

test('Retry-After stretches the delay up to twice the planned one and never shortens it', () => {
  expect(delayBeforeNext(3, 200_000, MIDDLE)).toBe(200_000);
  expect(delayBeforeNext(3, 999_000_000, MIDDLE)).toBe(240_000);
  expect(delayBeforeNext(3, 1_000, MIDDLE)).toBe(120_000);
});

test('the delay stays between 0.8 and 2 times the planned one for any Retry-After', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.option(fc.double({ min: 0, noNaN: true }), { nil: undefined }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (tries, retryAfter, random) => {
        const planned = PLANNED_DELAYS_MS[tries] ?? Number.NaN;
        const delay = delayBeforeNext(tries, retryAfter, random) ?? Number.NaN;
        return delay >= planned * 0.8 - 1 && delay <= planned * 2;
      },
    ),
  );
});
