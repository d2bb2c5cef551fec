import { expect, test } from 'vitest';
import { fromNow, shortened } from '../../src/html/formats.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const MINUTES = 60_000;
const HOURS = 60 * MINUTES;
const DAYS = 24 * HOURS;

test.each([
  [20_000, 'in a moment'],
  [1 * MINUTES, 'in 1 minute'],
  [119 * MINUTES, 'in 119 minutes'],
  [2 * HOURS, 'in 2 hours'],
  [47 * HOURS, 'in 47 hours'],
  [71.2 * HOURS, 'in 71 hours'],
  [3 * DAYS, 'in 3 days'],
  [95 * HOURS, 'in 4 days'],
])('describes a future time accurately: %i ms', (ahead, said) => {
  expect(fromNow(NOW + ahead, NOW)).toBe(said);
});

test.each([
  [20_000, 'just now'],
  [90 * MINUTES, '90 minutes ago'],
  [47 * HOURS, '47 hours ago'],
  [40 * DAYS, '40 days ago'],
])('describes a past time accurately: %i ms', (ago, said) => {
  expect(fromNow(NOW - ago, NOW)).toBe(said);
});

test('a text is cut between characters, never inside an emoji', () => {
  const family = '👩‍👩‍👧‍👦';
  expect(shortened(family.repeat(3), 21)).toBe(family.repeat(3));
  expect(shortened(family.repeat(4), 25)).toBe(`${family.repeat(3)}…`);
  expect(shortened(`e\u0301`.repeat(20), 10)).toBe(`${'e\u0301'.repeat(4)}…`);
  // One that is longer than the room is cut all the same.
  expect(shortened(`a${'\u0301'.repeat(100)}`, 5)).toHaveLength(5);
});
