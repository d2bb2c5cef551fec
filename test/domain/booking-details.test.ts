import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  arePersonal,
  BOOKING_DETAILS,
  type BookingDetails,
  detailsOf,
  fingerprintOf,
  NOT_REPEATED,
  PERSONAL_DETAILS,
  REPEATED_DETAILS,
  wrongDetails,
} from '../../src/domain/booking-details.ts';
import { type PlainDate, spaceId } from '../../src/domain/ids.ts';

const details: BookingDetails = { spaceId: spaceId(7), date: '2026-12-10' as PlainDate, startHour: 10 };

test('later events repeat the details except guests, message and series; the message alone is personal', () => {
  expect(BOOKING_DETAILS).toEqual(['spaceId', 'date', 'startHour', 'guests', 'message', 'series']);
  expect(REPEATED_DETAILS).toEqual(['spaceId', 'date', 'startHour']);
  expect([NOT_REPEATED, PERSONAL_DETAILS]).toEqual([['guests', 'message', 'series'], ['message']]);
  expect([details, { ...details, message: 'Hi' }].map(arePersonal)).toEqual([false, true]);
});

describe('the fingerprint of a request', () => {
  test('is the text whose digest earlier versions stored', () => {
    expect(fingerprintOf(details)).toBe('[7,"2026-12-10",10,null]');
    expect(fingerprintOf({ ...details, message: 'Hello' })).toBe('[7,"2026-12-10",10,"Hello"]');
    expect(createHash('sha256').update(fingerprintOf(details)).digest('base64url')).toBe(
      createHash('sha256')
        .update(JSON.stringify([7, '2026-12-10', 10, null]))
        .digest('base64url'),
    );
  });

  test('differs with every field', () => {
    const others: readonly Partial<BookingDetails>[] = [
      { spaceId: spaceId(8) },
      { date: '2026-12-11' as PlainDate },
      { startHour: 11 },
      { guests: 1 },
      { message: '' },
      { series: '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d40' },
    ];
    for (const other of others) expect(fingerprintOf({ ...details, ...other })).not.toBe(fingerprintOf(details));
  });

  test('ignores anything that is not a detail', () => {
    const more = { ...details, idempotencyKey: 'k', bookingId: 4 };
    expect(fingerprintOf(more)).toBe(fingerprintOf(details));
    expect(detailsOf(more)).toEqual(details);
  });
});

test.each<[string, Partial<BookingDetails>, RegExp]>([
  ['hour 24', { startHour: 24 }, /startHour must be a whole number, 0 to 23/],
  ['no guests', { guests: 0 }, /guests must be a whole number, 1 to 100000/],
  ['a series that names a person', { series: 'wedding of Anna' }, /series must be a UUID in lower case/],
  ['half an hour', { startHour: 9.5 }, /startHour/],
  ['a message that is too long', { message: 'x'.repeat(501) }, /message must have at most 500 characters/],
])('details with %s are refused', (_, wrong, text) => {
  expect(wrongDetails({ ...details, ...wrong })).toMatchObject({
    refused: 'ValidationError',
    details: expect.stringMatching(text),
  });
  expect(wrongDetails({ ...details, message: '🎉'.repeat(500) })).toBeUndefined();
});
