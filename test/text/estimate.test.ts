import { expect, test } from 'vitest';
import { createEstimate, timeLeft } from '../../src/text/estimate.ts';

test('estimates from recent progress', () => {
  let now = 0;
  const estimate = createEstimate(() => now);
  expect(estimate.secondsLeft(100)).toBeUndefined();
  estimate.note(0);
  expect(estimate.secondsLeft(100)).toBeUndefined();
  now = 1_000;
  estimate.note(10);
  expect(estimate.secondsLeft(100)).toBe(9);
  expect(estimate.secondsLeft(undefined)).toBeUndefined();
  // It has been four times as fast for longer than the window it considers.
  for (let second = 2; second <= 60; second++) {
    now = second * 1_000;
    estimate.note(10 + (second - 1) * 40);
  }
  expect(estimate.secondsLeft(10 + 59 * 40 + 400)).toBe(10);
  expect(estimate.secondsLeft(10 + 59 * 40)).toBeUndefined();
});

test('starts over when progress goes backwards', () => {
  let now = 0;
  const estimate = createEstimate(() => now);
  estimate.note(500);
  now = 1_000;
  estimate.note(1_000);
  now = 2_000;
  estimate.note(100);
  expect(estimate.secondsLeft(1_000)).toBeUndefined();
});

test.each([
  [undefined, ''],
  [1, ', about 1 s left'],
  [119, ', about 119 s left'],
  [300, ', about 5 min left'],
] as const)('%s seconds read %j', (seconds, text) => {
  expect(timeLeft(seconds)).toBe(text);
});
