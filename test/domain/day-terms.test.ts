import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isOpenDay, isStartHour, isWithinHours, termsOn } from '../../src/domain/day-terms.ts';
import type { DayHours } from '../../src/domain/events.ts';
import { cents } from '../../src/domain/ids.ts';
import { daysAfter, momentOf, weekdayOf } from '../model/moments.ts';
import { day, hall } from './bookings.fixture.ts';

const hours = (windowStart: number, windowEnd: number): DayHours => ({ windowStart, windowEnd });
/** Open from 10 to 14 on weekdays, and closed at weekends. */
const WEEK = Array.from({ length: 7 }, (_, index) => (index < 5 ? hours(10, 14) : ('closed' as const)));
const special = { [day('2026-12-12')]: { ...hours(3, 5), eventFee: cents(9) }, [day('2026-12-13')]: hours(1, 2) };

test('a date has its special hours, else those of its weekday, else those of the space', () => {
  const [weekday, saturday] = [day('2026-12-11'), day('2026-12-19')];
  expect(termsOn(hall, weekday)).toBe(hall);
  const withWeek = { ...hall, week: WEEK };
  expect(termsOn(withWeek, weekday)).toEqual({ ...withWeek, windowStart: 10, windowEnd: 14 });
  expect(termsOn(withWeek, saturday)).toEqual({ ...withWeek, isClosedDay: true });
  const empty = { ...hall, week: [], special: {} };
  expect(termsOn(empty, weekday)).toEqual(empty);
  const onlySpecial = { ...hall, special };
  expect(termsOn(onlySpecial, weekday)).toEqual(onlySpecial);
  const both = { ...withWeek, special };
  expect(termsOn(both, day('2026-12-12'))).toEqual({ ...both, windowStart: 3, windowEnd: 5, eventFee: 9 });
  for (let index = 0; index < 14; index += 1) {
    const date = daysAfter('2026-12-14', index);
    expect(termsOn(withWeek, day(date)).isClosedDay ?? false).toBe(weekdayOf(date) > 4);
  }
});

test('an event can start at the hours of the space, of its weekdays and of its special dates', () => {
  const starts = (space: typeof hall) =>
    Array.from({ length: 25 }, (_, hour) => hour).filter((hour) => isStartHour(space, hour));
  const range = (from: number, until: number) => Array.from({ length: until - from }, (_, index) => from + index);
  expect(starts(hall)).toEqual(range(9, 22));
  expect(starts({ ...hall, week: [] })).toEqual(range(9, 22));
  expect(starts({ ...hall, week: WEEK })).toEqual(range(10, 14));
  expect(starts({ ...hall, week: WEEK, special })).toEqual([1, 3, 4, ...range(10, 14)]);
  expect(starts({ ...hall, week: WEEK.map(() => 'closed') })).toEqual([]);
});

test('a booking keeps to the hours of its day if it starts and ends in them', () => {
  const booking = { date: day('2026-12-10'), timeZone: 'Europe/Berlin', startHour: 10, durationHours: 4 };
  const isWithin = (from: number, until: number, fields: Partial<typeof booking & { usageHours: number }> = {}) =>
    isWithinHours({ ...hall, ...hours(from, until) }, { ...booking, ...fields });
  expect([isWithin(10, 14), isWithin(11, 14), isWithin(10, 13), isWithin(10, 13, { usageHours: 3 })]).toEqual([
    ...[true, false, false, true],
  ]);
  expect([
    isWithin(10, 14, { startHour: 13, durationHours: 1 }),
    isWithin(10, 14, { startHour: 14, usageHours: 0 }),
  ]).toEqual([true, false]);
  expect(isWithinHours({ ...hall, isClosedDay: true }, booking)).toBe(false);
});

describe('a day is open if closed times leave some of its hours', () => {
  const isOpen = (...closed: readonly [number, number][]) =>
    isOpenDay(
      hall,
      day('2026-12-10'),
      closed.map(([start, until]) => ({ start, until })),
    );

  test.each<[string, readonly [number, number][], boolean]>([
    ['none', [], true],
    ['all of it', [[9, 22]], false],
    ['the whole day', [[0, 24]], false],
    [
      'two halves, in either order',
      [
        [15, 22],
        [9, 15],
      ],
      false,
    ],
    [
      'a hole of an hour',
      [
        [9, 14],
        [15, 22],
      ],
      true,
    ],
    ['its last hour', [[9, 21]], true],
    ['its first hour', [[10, 22]], true],
    // The second one ends before the first.
    [
      'one in another',
      [
        [9, 20],
        [10, 12],
        [20, 22],
      ],
      false,
    ],
    [
      'one in another, with a hole',
      [
        [9, 20],
        [10, 12],
        [21, 22],
      ],
      true,
    ],
  ])('%s', (_, closed, expected) => {
    expect(isOpen(...closed)).toBe(expected);
    expect(isOpenDay({ ...hall, isClosedDay: true }, day('2026-12-10'), [])).toBe(false);
  });

  test('in any zone, on any day', () => {
    const where = fc.constantFrom(
      ...([
        ['Europe/Berlin', '2027-03-28'],
        ['Europe/Berlin', '2027-10-31'],
        ['Australia/Lord_Howe', '2027-04-04'],
      ] as const),
    );
    const times = fc.array(fc.tuple(fc.nat(23), fc.integer({ min: 1, max: 12 })), { maxLength: 6 });
    fc.assert(
      fc.property(where, fc.nat(22), times, ([timeZone, date], windowStart, closed) => {
        const windowEnd = Math.min(23, windowStart + 6);
        const held = closed.map(([start, length]) => ({ start, until: Math.min(24, start + length) }));
        const at = (hour: number) => momentOf(timeZone, date, hour);
        // Every quarter of an hour that passes.
        const quarters = Array.from(
          { length: (at(windowEnd) - at(windowStart)) / 900_000 },
          (_, index) => at(windowStart) + index * 900_000,
        );
        const isFree = (moment: number) => held.every(({ start, until }) => moment < at(start) || moment >= at(until));
        const terms = { ...hall, timeZone, windowStart, windowEnd };
        expect(isOpenDay(terms, day(date), held)).toBe(quarters.some(isFree));
      }),
    );
  });
});
