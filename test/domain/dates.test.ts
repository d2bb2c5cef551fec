import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  canonicalZone,
  datesBetween,
  daysIn,
  daysLater,
  daysOfMonth,
  hoursBegun,
  isDaysLater,
  isMonth,
  isYearsLater,
  localDate,
  localMonth,
  localTime,
  MOMENT_RULE,
  momentOf,
  momentOn,
  monthsLater,
  wallDay,
  weekdayOf,
} from '../../src/domain/calendar.ts';
import { clockAt, daysAfter, momentOf as momentAt, yearsAfter } from '../model/moments.ts';
import { at, day } from './bookings.fixture.ts';

/** Around a leap day, and around the end of a century that has none. */
const someDate = fc
  .tuple(fc.constantFrom('2028-02-20', '2026-12-20', '2100-02-20'), fc.nat(20))
  .map(([from, days]) => daysAfter(from, days));

test('ranges and differences of dates, across leap days, years and centuries', () => {
  fc.assert(
    fc.property(someDate, fc.integer({ min: -3, max: 40 }), (from, days) => {
      const to = daysAfter(from, days);
      expect(daysLater(day(from), days)).toBe(to);
      expect(daysIn(day(from), day(to))).toBe(days + 1);
      const all = Array.from({ length: Math.max(0, days + 1) }, (_, index) => daysAfter(from, index));
      expect([...datesBetween(day(from), day(to))]).toEqual(all);
      for (const limit of [days - 1, days, days + 1]) expect(isDaysLater(day(to), day(from), limit)).toBe(days > limit);
      for (const each of [-1, 0, 1]) {
        const later = daysAfter(yearsAfter(from, 5), each);
        expect(isYearsLater(day(later), day(from), 5)).toBe(later > yearsAfter(from, 5));
      }
    }),
  );
});

test('months', () => {
  expect([isMonth('2026-01'), isMonth('2026-12'), isMonth('2026-13'), isMonth('2026-00'), isMonth('2026-1')]).toEqual([
    ...[true, true, false, false, false],
  ]);
  expect([monthsLater('2026-11', 2), monthsLater('2026-01', -1)]).toEqual(['2027-01', '2025-12']);
  expect(daysOfMonth('2028-02')).toEqual({ startDate: '2028-02-01', endDate: '2028-02-29' });
  expect([
    localMonth(at('2026-12-31T23:30:00Z'), 'UTC'),
    localMonth(at('2026-12-31T23:30:00Z'), 'Europe/Berlin'),
  ]).toEqual([...['2026-12', '2027-01']]);
});

test('moments and zones as texts', () => {
  expect(momentOf('2026-03-01T12:00:00+01:00')).toBe(at('2026-03-01T11:00:00Z'));
  for (const none of ['2026-03-01T12:00:00', 'now', '']) expect(momentOf(none)).toBeUndefined();
  expect(momentOf(MOMENT_RULE.slice(MOMENT_RULE.lastIndexOf(' ') + 1))).toBe(at('2026-03-01T12:00:00Z'));
  expect(localTime(at('2026-10-31T23:30:00Z'), 'Europe/Berlin')).toBe('2026-11-01T00:30:00.000+01:00');
  expect(canonicalZone('europe/berlin')).toBe('Europe/Berlin');
  expect(weekdayOf(day('2026-12-07'))).toBe('Monday');
});

describe('what the clock shows', () => {
  const zones = [
    'Europe/Berlin',
    'America/Havana',
    'Asia/Beirut',
    'Australia/Lord_Howe',
    'Antarctica/Troll',
    'Asia/Kathmandu',
  ];
  const place = fc.record({
    zone: fc.constantFrom(...zones),
    date: someDate,
    hours: fc.nat(96).map((quarter) => quarter / 4),
  });
  /** The days around each change of clocks in a year, and others. */
  const changes = zones.flatMap((zone) =>
    Array.from({ length: 365 }, (_, index) => daysAfter('2027-01-01', index))
      .filter((date) => wallDay(day(date), zone).parts !== undefined)
      .map((date) => ({ zone, date })),
  );
  const changing = fc.record({
    change: fc.constantFrom(...changes),
    days: fc.integer({ min: -1, max: 1 }),
    hours: place.map(({ hours }) => hours),
  });
  const somewhere = fc.oneof(
    place,
    changing.map(({ change: { zone, date }, days, hours }) => ({ zone, date: daysAfter(date, days), hours })),
  );

  test('is found as Intl finds it, in zones and on days with and without changes', () => {
    expect(changes.length).toBeGreaterThan(8);
    fc.assert(
      fc.property(somewhere, ({ zone, date, hours }) => {
        const wall = wallDay(day(date), zone);
        expect([wall.start, wall.end]).toEqual([momentAt(zone, date, 0), momentAt(zone, daysAfter(date, 1), 0)]);
        const moment = momentAt(zone, date, hours);
        expect(momentOn(wall, hours)).toBe(moment);
        for (const each of [moment, wall.start - 5 * 3_600_000, wall.start - 1, wall.start, wall.end - 1, wall.end]) {
          expect(localDate(each, zone)).toBe(clockAt(zone, each).date);
          const begun = Array.from({ length: 24 }, (_, hour) => momentAt(zone, date, hour)).findIndex(
            (start) => start > each,
          );
          expect(hoursBegun(wall, each)).toBe(each < wall.start ? 0 : begun === -1 ? 24 : begun);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('is right where the clocks change at odd minutes and seconds', () => {
    // Local mean time until then: 3 minutes and 58 seconds were skipped in Berlin, 4 minutes shown again in New York.
    const berlin = wallDay(day('1893-04-01'), 'Europe/Berlin');
    expect(berlin.end - berlin.start).toBe(24 * 3_600_000 - (6 * 60 + 32) * 1_000);
    const monrovia = wallDay(day('1972-01-07'), 'Africa/Monrovia');
    expect(monrovia.end - monrovia.start).toBe(24 * 3_600_000 - (44 * 60 + 30) * 1_000);
    expect(momentOn(monrovia, 12) - monrovia.start).toBe(12 * 3_600_000 - (44 * 60 + 30) * 1_000);
    expect(momentOn(monrovia, 0.5)).toBe(monrovia.start);
  });
});
