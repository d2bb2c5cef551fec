import { expect, test } from 'vitest';
import { delayBeforeNext } from '../../src/outbox/schedule.ts';
import { parseRetryAfter } from '../../src/webhooks/outcome.ts';

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
