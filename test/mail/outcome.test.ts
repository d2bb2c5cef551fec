import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { outcomeOf, pauseAfter, type SendResult } from '../../src/mail/outcome.ts';

const NOW = Date.parse('2029-03-01T12:00:00Z');
const DAY_MS = 24 * 3_600_000;
const notAfter = toTimestamp(NOW + DAY_MS);
const temporary: SendResult = { outcome: 'refused', isFinal: false, code: 450, response: '450 Later' };
const away: SendResult = { outcome: 'unreachable', cause: 'NotReached', response: 'Connection refused' };

test('a mail that is accepted is sent, and one that is refused for good is not tried again', () => {
  const moment = { now: NOW, random: 0.5, pause: 5_000 };
  const mail = { tries: 0, notAfter };
  expect(outcomeOf(mail, { outcome: 'accepted', response: '250 OK' }, moment)).toEqual({ state: 'Sent' });
  expect(outcomeOf(mail, { outcome: 'refused', isFinal: true, response: '550 No' }, moment)).toMatchObject({
    state: 'Failed',
  });
});

test('any other mail is tried on the schedule of deliveries, for a day and not longer', () => {
  fc.assert(
    fc.property(fc.constantFrom(temporary, away), fc.double({ min: 0, max: 0.999, noNaN: true }), (result, random) => {
      let now = NOW;
      const delays: number[] = [];
      for (let tries = 0; ; tries += 1) {
        const outcome = outcomeOf({ tries, notAfter }, result, { now, random, pause: 5_000 });
        if (outcome.state !== 'Pending') {
          expect(outcome.state).toBe('Failed');
          break;
        }
        expect(outcome.delay).toBeGreaterThan(0);
        delays.push(outcome.delay);
        now += outcome.delay;
      }
      expect(delays[0]).toBeLessThanOrEqual(6_000);
      // The last try is in the last minutes of the day, never after it.
      expect(NOW + DAY_MS - now).toBe(60_000);
    }),
  );
});

test('a mail that is held waits as long as all mail, and uses up no try', () => {
  const held = { outcome: 'held', cause: 'RefusesService', response: '554 5.7.1 No' } as const;
  for (const tries of [0, 3, 20])
    expect(outcomeOf({ tries, notAfter }, held, { now: NOW, random: 0.5, pause: 30_000 })).toEqual({
      state: 'Pending',
      delay: 30_000,
      isTry: false,
    });
});

test('the pauses while the server takes nothing grow to two minutes', () => {
  expect([1, 2, 3, 4, 100].map(pauseAfter)).toEqual([5_000, 30_000, 120_000, 120_000, 120_000]);
});
