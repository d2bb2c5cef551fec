import { describe, expect, test } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  answered,
  classOf,
  MAX_PAUSE_MS,
  mayTry,
  OPENS_AFTER,
  type ReceiverState,
  UNKNOWN,
} from '../../src/webhooks/breaker.ts';
import { createSlowStart } from '../../src/webhooks/slow-start.ts';

const NOW = Date.parse('2026-04-20T10:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The middle of the jitter. */
const at = (running: number) => ({ now: NOW + running, running, random: 0.5 });
const failTimes = (state: ReceiverState, times: number, running = 0): ReceiverState =>
  Array.from({ length: times }).reduce<ReceiverState>(
    (failing) => afterFailure(failing, { isProbe: false, nextInMs: 5_000 }, at(running)),
    state,
  );
const probe = (state: ReceiverState, running: number) => afterFailure(state, { isProbe: true }, at(running));

describe('the breaker', () => {
  test('opens after five failures in a row, and a success in between counts them anew', () => {
    const almost = failTimes(UNKNOWN, OPENS_AFTER - 1);
    expect(almost.breaker).toBeUndefined();
    expect(failTimes(afterSuccess(almost, false, NOW), OPENS_AFTER - 1).breaker).toBeUndefined();
    expect(failTimes(almost, 1)).toMatchObject({ failures: 5, breaker: { state: 'open', pauseMs: 5_000 } });
  });

  test('the pause doubles with each probe that fails, up to ten minutes, and with nothing else', () => {
    let state = failTimes(UNKNOWN, OPENS_AFTER);
    const { since } = state.breaker ?? {};
    expect(failTimes(state, 10).breaker).toEqual(state.breaker);
    const pauses: (number | undefined)[] = [];
    for (let i = 0; i < 9; i++) {
      state = probe(state, 0);
      pauses.push(state.breaker?.pauseMs);
    }
    expect(pauses.slice(0, 3)).toEqual([10_000, 20_000, 40_000]);
    expect(pauses.at(-1)).toBe(MAX_PAUSE_MS);
    expect(state.breaker?.since).toBe(since);
  });

  test('lets one through when the pause is over, or when its end cannot be right', () => {
    const open = failTimes(UNKNOWN, OPENS_AFTER);
    expect(mayTry(open, NOW + 1_000)).toBe(false);
    expect(mayTry(open, NOW + 5_000)).toBe(true);
    expect(mayTry(open, NOW - HOUR_MS)).toBe(true);
  });

  test('a success begins a recovery; failures during it open the breaker again with a longer pause', () => {
    const recovering = afterSuccess(failTimes(UNKNOWN, OPENS_AFTER), false, NOW + 7_000);
    expect(recovering).toMatchObject({
      failures: 0,
      breaker: { state: 'recovering', since: '2026-04-20T10:00:07.000Z' },
    });
    expect(failTimes(recovering, OPENS_AFTER - 1).breaker?.state).toBe('recovering');
    expect(failTimes(recovering, OPENS_AFTER).breaker).toMatchObject({ state: 'open', pauseMs: 10_000 });
    expect(afterSuccess(recovering, false, NOW + 8_000)).toBe(recovering);
    expect(afterSuccess(recovering, true, NOW + 18_000).breaker).toBeUndefined();
  });

  test('a healthy receiver stays the same object, so that nothing is written for it', () => {
    const prompt = answered(UNKNOWN, 'prompt', true);
    expect(afterSuccess(answered(prompt, 'prompt', true), false, NOW)).toBe(prompt);
  });
});

test('a prompt receiver is forgiven one slow success, but neither two nor a failure', () => {
  const succeeds = (state: ReceiverState, pace: 'prompt' | 'slow') =>
    afterSuccess(answered(state, pace, true), false, NOW);
  const prompt = succeeds(UNKNOWN, 'prompt');
  const once = succeeds(prompt, 'slow');
  expect(once.pace).toBe('prompt');
  expect(succeeds(once, 'slow').pace).toBe('slow');
  expect(succeeds(once, 'prompt')).toEqual(prompt);
  expect(answered(prompt, 'slow', false).pace).toBe('slow');
  expect(succeeds(UNKNOWN, 'slow').pace).toBe('slow');
  expect(succeeds(succeeds(UNKNOWN, 'slow'), 'prompt').pace).toBe('prompt');
});

test('a slow receiver that failed does not share permits with those that answer', () => {
  expect(classOf(UNKNOWN)).toBe('unknown');
  expect(classOf(failTimes(answered(UNKNOWN, 'prompt', true), 3))).toBe('prompt');
  const slow = answered(UNKNOWN, 'slow', true);
  expect(classOf(slow)).toBe('slow');
  expect(classOf(failTimes(slow, 1))).toBe('hanging');
  expect(classOf(afterSuccess(failTimes(slow, 1), false, NOW))).toBe('slow');
});

describe('the time in which a receiver fails', () => {
  test('adds up from failure to failure while something is left to try', () => {
    let state = afterFailure(UNKNOWN, { isProbe: false, nextInMs: 2 * HOUR_MS }, at(0));
    expect(state.failingMs).toBe(0);
    state = afterFailure(state, { isProbe: false, nextInMs: 5 * HOUR_MS }, at(2 * HOUR_MS));
    state = afterFailure(state, { isProbe: false, nextInMs: 10 * HOUR_MS }, at(7 * HOUR_MS));
    expect(state.failingMs).toBe(7 * HOUR_MS);
    expect(afterSuccess(state, false, NOW + 8 * HOUR_MS).failingMs).toBe(0);
  });

  test('a time in which nothing was left to try does not count', () => {
    const last = afterFailure(UNKNOWN, { isProbe: false }, at(0));
    const next = afterFailure(last, { isProbe: false, nextInMs: 5_000 }, at(96 * HOUR_MS));
    expect(next.failingMs).toBe(MINUTE_MS);
  });

  test('a running time that an older backup has set back counts as none', () => {
    const failed = afterFailure(UNKNOWN, { isProbe: false, nextInMs: HOUR_MS }, at(10 * HOUR_MS));
    expect(afterFailure(failed, { isProbe: false }, at(HOUR_MS)).failingMs).toBe(0);
  });
});

test('the slow start allows 5 attempts in the first second, twice as many in each that follows, and all after ten', () => {
  let now = 0;
  const slowStart = createSlowStart(() => now);
  const perSecond: number[] = [];
  for (let second = 0; second < 6; second++) {
    let attempts = 0;
    while (now < (second + 1) * 1_000) {
      if (slowStart.wait() === 0) {
        slowStart.attempted();
        attempts += 1;
      } else now += 1;
    }
    perSecond.push(attempts);
  }
  for (const [second, attempts] of perSecond.entries()) {
    expect(attempts).toBeGreaterThan(4 * 2 ** second);
    expect(attempts).toBeLessThanOrEqual(5 * 2 ** (second + 1));
  }
  slowStart.failed();
  slowStart.attempted();
  expect(slowStart.wait()).toBeGreaterThan(1_000 / (5 * 2 ** 6));
  now += 20_000;
  expect(slowStart.wait()).toBe(0);
  expect(slowStart.isOver()).toBe(true);
});
