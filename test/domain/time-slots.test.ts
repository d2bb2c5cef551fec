import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wallDay } from '../../src/domain/calendar.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import type { BookingEvent } from '../../src/domain/events.ts';
import { bookingId, brandId, communityId } from '../../src/domain/ids.ts';
import type { Space } from '../../src/domain/space.ts';
import { EMPTY_SPACE_DAY, evolveSpaceDay, requestBooking } from '../../src/domain/space-day.ts';
import { closedKind, type TakenHours, timeSlots, whyClosed } from '../../src/domain/time-slots.ts';
import { acme, approved, at, context, day, hall, other, requestCommand, requested } from './bookings.fixture.ts';

const now = at('2026-12-01T11:00:00Z');
const open = (slots: ReturnType<typeof timeSlots>) =>
  slots.filter(({ isAvailable }) => isAvailable).map(({ hour }) => hour);

test('one slot per start hour of the window, with 12-hour labels', () => {
  const slots = timeSlots(hall, day('2026-12-10'), [], now);
  expect(slots.map(({ hour }) => hour)).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
  expect(slots[0]).toEqual({ hour: 9, label: '9:00 AM', isAvailable: true });
  expect(slots[3]?.label).toBe('12:00 PM');
  expect(slots[4]?.label).toBe('1:00 PM');
  expect(timeSlots({ ...hall, windowStart: 0 }, day('2026-12-10'), [], now)[0]?.label).toBe('12:00 AM');
});

test('slots whose event would exceed the window say how many hours remain', () => {
  const slots = timeSlots(hall, day('2026-12-10'), [], now);
  expect(
    slots.filter((slot) => slot.usageHours !== undefined).map(({ hour, usageHours }) => [hour, usageHours]),
  ).toEqual([
    [19, 3],
    [20, 2],
    [21, 1],
  ]);
});

describe('a slot is closed', () => {
  test('when its event would overlap a booking', () => {
    expect(open(timeSlots(hall, day('2026-12-10'), [{ start: 14, until: 18 }], now))).toEqual([9, 10, 18, 19, 20, 21]);
  });
  test('when the space is inactive', () => {
    expect(open(timeSlots({ ...hall, active: false }, day('2026-12-10'), [], now))).toEqual([]);
  });
  test('when its hour has begun', () => {
    expect(open(timeSlots(hall, day('2026-12-01'), [], now))).toEqual([13, 14, 15, 16, 17, 18, 19, 20, 21]);
  });
  test('when it is more than five years ahead', () => {
    expect(open(timeSlots(hall, day('2031-12-02'), [], now))).toEqual([]);
    expect(open(timeSlots(hall, day('2031-12-01'), [], now))).toHaveLength(13);
  });
  test('when the clock skips its hour', () => {
    const night = { ...hall, windowStart: 0, windowEnd: 6, durationHours: 1 };
    expect(open(timeSlots(night, day('2027-03-28'), [], now))).toEqual([0, 1, 3, 4, 5]);
    expect(open(timeSlots(night, day('2027-10-31'), [], now))).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe('why an hour is closed', () => {
  const date = day('2026-12-10');
  const why = (space: Space, hour: number, when = now, on = date) =>
    whyClosed(space, wallDay(on, space.timeZone), hour, [], when)?.why;

  test('by the space itself, or by the clock', () => {
    expect(why(hall, 10)).toBeUndefined();
    expect(why({ ...hall, active: false }, 10)).toBe('Inactive');
    expect([why(hall, 8), why(hall, 22)]).toEqual(['OutsideWindow', 'OutsideWindow']);
    expect([why(hall, 12, now, day('2026-12-01')), why(hall, 13, now, day('2026-12-01'))]).toEqual(['Past', undefined]);
    expect(why({ ...hall, windowStart: 0 }, 2, now, day('2027-03-28'))).toBe('Skipped');
    // Noon in Berlin on 1 December 2026, and an hour before midnight.
    expect([why(hall, 10, now, day('2031-12-01')), why(hall, 10, now, day('2031-12-02'))]).toEqual([
      undefined,
      'TooFar',
    ]);
    expect(why(hall, 10, at('2026-12-01T23:00:00Z'), day('2031-12-02'))).toBeUndefined();
    expect(why(hall, 10, at('2028-02-29T12:00:00Z'), day('2033-03-01'))).toBe('TooFar');
  });

  const held = (start: number, brand: typeof acme, status: TakenHours['status']): TakenHours => ({
    start,
    until: start + 4,
    brandId: brand.brandId,
    status,
  });
  const kind = (taken: readonly TakenHours[], hour: number, viewer = acme) => {
    const closed = whyClosed(hall, wallDay(date, hall.timeZone), hour, taken, now);
    return closed && closedKind(closed, { kind: 'Brand', id: viewer.brandId });
  };

  test.each([
    ['a request of another brand', [held(10, other, 'Pending')], 'Requested'],
    ['an own request', [held(10, acme, 'Pending')], 'RequestedByYou'],
    ['a booking of another brand', [held(10, other, 'Approved')], 'Booked'],
    ['an own booking', [held(10, acme, 'Approved')], 'BookedByYou'],
    // The event at 9 would run into the first and last until the second begins at 14.
    ['a booking rather than an own request', [held(9, acme, 'Pending'), held(13, other, 'Approved')], 'Booked'],
    ['an own request beside another', [held(9, other, 'Pending'), held(13, acme, 'Pending')], 'RequestedByYou'],
  ] as const)('%s', (_, taken, expected) => {
    expect(kind(taken, 10)).toBe(expected);
    expect(kind(taken, 18)).toBeUndefined();
  });

  test('a community sees a brand’s booking like any other', () => {
    const closed = { why: 'Taken', by: [held(10, { ...acme, brandId: brandId(1) }, 'Approved')] } as const;
    expect(closedKind(closed, { kind: 'Community', id: communityId(1) })).toBe('Booked');
  });

  test('an hour is closed exactly when a booking of it is refused', () => {
    const hours = fc.uniqueArray(fc.integer({ min: 9, max: 21 }), { maxLength: 3 });
    const minutes = fc.integer({ min: -20 * 60, max: 14 * 60 });
    fc.assert(
      fc.property(hours, fc.integer({ min: 0, max: 23 }), minutes, fc.boolean(), (starts, hour, shift, active) => {
        const space = { ...hall, active };
        const moment = at('2026-12-10T09:00:00Z') + shift * 60_000;
        const events = starts.flatMap((startHour, index): BookingEvent[] => {
          const event = requested({ bookingId: bookingId(index + 1), startHour });
          return index === 0 ? [event, approved(event)] : [event];
        });
        const taken = events.flatMap(({ type, data }) =>
          type === 'BookingRequested' ? [{ start: data.startHour, until: data.freeFrom }] : [],
        );
        const decision = requestBooking(
          events.reduce(evolveSpaceDay, EMPTY_SPACE_DAY),
          requestCommand({ bookingId: bookingId(9), space, startHour: hour }),
          { ...context, now: moment },
        );
        const closed = whyClosed(space, wallDay(date, space.timeZone), hour, taken, moment);
        expect(isRefusal(decision)).toBe(closed !== undefined);
        const slot = timeSlots(space, date, taken, moment).find((one) => one.hour === hour);
        expect(slot?.isAvailable ?? false).toBe(closed === undefined);
      }),
    );
  });
});
