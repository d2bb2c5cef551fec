import { expect, test } from 'vitest';
import { delayBeforeNext } from '../../src/outbox/schedule.ts';
import { GONE, outcomeOf, parseRetryAfter } from '../../src/webhooks/outcome.ts';

test('Retry-After is in seconds or an HTTP date; anything else is ignored', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  expect(parseRetryAfter('120', now)).toBe(120_000);
  expect(parseRetryAfter(' 0 ', now)).toBe(0);
  expect(parseRetryAfter('Sun, 01 Mar 2026 12:01:00 GMT', now)).toBe(60_000);
  expect(parseRetryAfter('Sun, 01 Mar 2026 11:00:00 GMT', now)).toBe(0);
  // Of any length: what is more than the maximum counts as the maximum.
  for (const digits of [11, 20, 400])
    expect(delayBeforeNext(3, parseRetryAfter('9'.repeat(digits), now), 0.5)).toBe(240_000);
  for (const text of [undefined, '', 'soon', '-5', '1.5', '1e9', '2027-01-01'])
    expect([text, parseRetryAfter(text, now)]).toEqual([text, undefined]);
});

const SECOND_MS = 1_000;
const answered = (status: number) => ({ status, duration: 1, answer: '' });
const failed = (last: string) => ({ state: 'Failed', reason: `The last attempt failed: ${last}` });

test.each([
  ['a success', 'BookingApproved', 0, answered(204), { state: 'Delivered' }],
  ['410 Gone', 'BookingApproved', 0, answered(410), { state: 'Failed', reason: GONE }],
  ['411', 'BookingApproved', 0, answered(411), { state: 'Pending', delay: 5 * SECOND_MS }],
  ['a first failure', 'BookingApproved', 0, answered(500), { state: 'Pending', delay: 5 * SECOND_MS }],
  ['a second failure', 'BookingApproved', 1, answered(500), { state: 'Pending', delay: 30 * SECOND_MS }],
  [
    'a busy receiver',
    'BookingApproved',
    1,
    { ...answered(503), retryAfter: '50' },
    { state: 'Pending', delay: 50_000 },
  ],
  ['the last failure', 'BookingApproved', 9, answered(500), failed('status 500')],
  [
    'no answer to the last attempt',
    'BookingApproved',
    9,
    { error: { type: 'Timeout', message: 'No response' } as const, duration: 1, answer: '' },
    failed('Timeout'),
  ],
  ['a test that fails', 'Test', 0, answered(500), failed('status 500')],
] as const)('%s', (_, event, tries, result, outcome) => {
  expect(outcomeOf({ event, tries }, result, { now: Date.parse('2026-03-01T12:00:00Z'), random: 0.5 })).toEqual(
    outcome,
  );
});
