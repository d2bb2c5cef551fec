import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wallDay } from '../../src/domain/calendar.ts';
import { isStartHour } from '../../src/domain/day-terms.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import type { BookingEvent, ClosureKind } from '../../src/domain/events.ts';
import type { BookedHours, ClosedHours } from '../../src/domain/held-times.ts';
import { bookingId, brandId, cents, closureId, communityId } from '../../src/domain/ids.ts';
import { requestBooking } from '../../src/domain/request-booking.ts';
import type { Space } from '../../src/domain/space.ts';
import { EMPTY_SPACE_DAY, evolveSpaceDay } from '../../src/domain/space-day.ts';
import { closedKind, type TakenHours, timeSlots, whyClosed } from '../../src/domain/time-slots.ts';
import {
  acme,
  approved,
  at,
  context,
  day,
  hall,
  other,
  requestCommand,
  requested,
  timeClosed,
} from './bookings.fixture.ts';

const now = at('2026-12-01T11:00:00Z');
const FREE = { taken: [], closed: [] };
/** A booking of the hall, of four hours if not said otherwise. */
const bookedFrom = (startHour: number, durationHours = 4): BookedHours => ({
  startHour,
  durationHours,
  timeZone: hall.timeZone,
});
const open = (slots: ReturnType<typeof timeSlots>) =>
  slots.filter(({ isAvailable }) => isAvailable).map(({ hour }) => hour);

test('one slot per start hour of the window, with 12-hour labels', () => {
  const slots = timeSlots(hall, day('2026-12-10'), FREE, now);
  expect(slots.map(({ hour }) => hour)).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
  expect(slots[0]).toEqual({ hour: 9, label: '9:00 AM', isAvailable: true });
  expect(slots[3]?.label).toBe('12:00 PM');
  expect(slots[4]?.label).toBe('1:00 PM');
  expect(timeSlots({ ...hall, windowStart: 0 }, day('2026-12-10'), FREE, now)[0]?.label).toBe('12:00 AM');
});

test('slots whose event would exceed the window say how many hours remain', () => {
  const slots = timeSlots(hall, day('2026-12-10'), FREE, now);
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
    expect(open(timeSlots(hall, day('2026-12-10'), { ...FREE, taken: [bookedFrom(14)] }, now))).toEqual([
      9, 10, 18, 19, 20, 21,
    ]);
  });
  test('when the space is inactive', () => {
    expect(open(timeSlots({ ...hall, active: false }, day('2026-12-10'), FREE, now))).toEqual([]);
  });
  test('when its hour has begun', () => {
    expect(open(timeSlots(hall, day('2026-12-01'), FREE, now))).toEqual([13, 14, 15, 16, 17, 18, 19, 20, 21]);
  });
  test('when it is more than five years ahead', () => {
    expect(open(timeSlots(hall, day('2031-12-02'), FREE, now))).toEqual([]);
    expect(open(timeSlots(hall, day('2031-12-01'), FREE, now))).toHaveLength(13);
  });
  test('when the clock skips its hour', () => {
    const night = { ...hall, windowStart: 0, windowEnd: 6, durationHours: 1 };
    expect(open(timeSlots(night, day('2027-03-28'), FREE, now))).toEqual([0, 1, 3, 4, 5]);
    expect(open(timeSlots(night, day('2027-10-31'), FREE, now))).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe('the terms of a date', () => {
  const fee = cents(60_000);
  // 10 December 2026 is a Thursday.
  const special: Space['special'] = { [day('2026-12-13')]: { windowStart: 12, windowEnd: 14 } };
  const saturdays = { windowStart: 10, windowEnd: 16, eventFee: fee };
  const usual = { windowStart: 9, windowEnd: 12 };
  const space: Space = {
    ...hall,
    durationHours: 1,
    week: [usual, usual, usual, usual, usual, saturdays, 'closed'],
    special,
  };
  const openOn = (date: string) => open(timeSlots(space, day(date), FREE, now));

  test('are those of the date, else those of the weekday, else the base', () => {
    expect(openOn('2026-12-10')).toEqual([9, 10, 11]);
    expect(openOn('2026-12-12')).toEqual([10, 11, 12, 13, 14, 15]);
    // Special hours open a Sunday.
    expect(openOn('2026-12-13')).toEqual([12, 13]);
    expect(open(timeSlots({ ...hall, week: [] }, day('2026-12-10'), FREE, now))).toHaveLength(13);
  });
  test('a closed weekday shows the base window, every slot closed', () => {
    const slots = timeSlots(space, day('2026-12-20'), FREE, now);
    expect([slots.length, open(slots)]).toEqual([13, []]);
  });
  test('a weekday has its own fee, which the booking keeps with the window', () => {
    const on = (date: string, startHour: number) =>
      requestBooking(
        EMPTY_SPACE_DAY,
        requestCommand({ space: { ...space, cancelHours: 24 }, date: day(date), startHour }),
        context,
      );
    expect(on('2026-12-12', 15)).toMatchObject([{ data: { eventFee: 60_000, freeFrom: 16, cancelHours: 24 } }]);
    expect(on('2026-12-10', 9)).toMatchObject([{ data: { eventFee: 20_000 } }]);
    expect(on('2026-12-20', 10)).toMatchObject({
      refused: 'SlotUnavailable',
      details: 'The space is closed on Sundays.',
    });
  });
  test('an hour is a start hour if one date or weekday has it', () => {
    expect([8, 9, 13, 15, 16].map((hour) => isStartHour(space, hour))).toEqual([false, true, true, true, false]);
    expect([8, 9, 21, 22].map((hour) => isStartHour(hall, hour))).toEqual([false, true, true, false]);
  });
});

describe('why an hour is closed', () => {
  const date = day('2026-12-10');
  const why = (space: Space, hour: number, when = now, on = date) =>
    whyClosed(space, wallDay(on, space.timeZone), hour, FREE, when)?.why;

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
    expect([9, 10].map((days) => why({ ...hall, horizonDays: days }, 10, now, day('2026-12-11')))).toEqual([
      'TooFar',
      undefined,
    ]);
    // At noon, 22 hours before 10:00 on the next day.
    expect([21, 22].map((noticeHours) => why({ ...hall, noticeHours }, 10, now, day('2026-12-02')))).toEqual([
      undefined,
      'TooSoon',
    ]);
    expect(why(hall, 10, at('2028-02-29T12:00:00Z'), day('2033-03-01'))).toBe('TooFar');
  });

  const held = (start: number, brand: typeof acme, status: TakenHours['status']): TakenHours => ({
    ...bookedFrom(start),
    brandId: brand.brandId,
    status,
  });
  const kind = (taken: readonly TakenHours[], hour: number, viewer = acme) => {
    const closed = whyClosed(hall, wallDay(date, hall.timeZone), hour, { taken, closed: [] }, now);
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

  test('closed hours close every event that would overlap them, whoever holds them besides', () => {
    const closed: ClosedHours[] = [{ kind: 'Closure', start: 14.5, until: 18 }];
    expect(open(timeSlots(hall, date, { taken: [], closed }, now))).toEqual([9, 10, 18, 19, 20, 21]);
    const held = { closed, taken: [bookedFrom(14)] };
    expect(whyClosed(hall, wallDay(date, hall.timeZone), 14, held, now)).toEqual({ why: 'Closed' });
  });

  test('the time between bookings is kept free on both sides', () => {
    const held = { closed: [], taken: [bookedFrom(14, 2)] };
    const withGap = (gapHours: number) => open(timeSlots({ ...hall, durationHours: 2, gapHours }, date, held, now));
    expect(withGap(0)).toEqual([9, 10, 11, 12, 16, 17, 18, 19, 20, 21]);
    expect(withGap(1.5)).toEqual([9, 10, 18, 19, 20, 21]);
  });

  test('an hour is closed exactly when a booking of it is refused', () => {
    const hours = fc.uniqueArray(fc.integer({ min: 9, max: 21 }), { maxLength: 3 });
    const minutes = fc.integer({ min: -20 * 60, max: 14 * 60 });
    const dayHours = fc.constantFrom({ windowStart: 9, windowEnd: 13 }, { windowStart: 11, windowEnd: 22 });
    const terms = fc.record(
      {
        active: fc.boolean(),
        week: fc.array(fc.oneof(dayHours, fc.constant('closed' as const)), { minLength: 7, maxLength: 7 }),
        special: dayHours.map((one) => ({ [date]: one })),
        gapHours: fc.constantFrom(0, 0.5, 2),
        noticeHours: fc.constantFrom(0, 2, 12),
        horizonDays: fc.constantFrom(1, 365),
      },
      { requiredKeys: ['active'] },
    );
    const times = fc.array(
      fc.record({
        kind: fc.constantFrom<ClosureKind>('Closure', 'OwnEvent'),
        start: fc.integer({ min: 0, max: 23 }),
        hours: fc.constantFrom(0.5, 1, 24),
      }),
      {
        maxLength: 2,
      },
    );
    fc.assert(
      fc.property(hours, fc.integer({ min: 0, max: 23 }), minutes, terms, times, (starts, hour, shift, some, shut) => {
        const space: Space = { ...hall, ...some };
        const moment = at('2026-12-10T09:00:00Z') + shift * 60_000;
        const events = starts.flatMap((startHour, index): BookingEvent[] => {
          const event = requested({ bookingId: bookingId(index + 1), startHour });
          return index === 0 ? [event, approved(event)] : [event];
        });
        const closed = shut.map(({ kind, start, hours: length }) => ({
          kind,
          start,
          until: Math.min(24, start + length),
        }));
        const closures = closed.map((interval, index) =>
          timeClosed({ closureId: closureId(`c${index}`), ...interval }),
        );
        const taken = events.flatMap(({ type, data }) => (type === 'BookingRequested' ? [data] : []));
        const decision = requestBooking(
          [...events, ...closures].reduce(evolveSpaceDay, EMPTY_SPACE_DAY),
          requestCommand({ bookingId: bookingId(9), space, startHour: hour }),
          { ...context, now: moment },
        );
        const held = { taken, closed };
        const why = whyClosed(space, wallDay(date, space.timeZone), hour, held, moment);
        expect(isRefusal(decision)).toBe(why !== undefined);
        const slot = timeSlots(space, date, held, moment).find((one) => one.hour === hour);
        expect(slot?.isAvailable ?? false).toBe(why === undefined);
      }),
    );
  });
});
