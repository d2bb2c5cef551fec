import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  hourBeginsOn,
  hourFrom,
  hoursBegun,
  isPlainDate,
  isTimeZone,
  localDate,
  momentOn,
  toTimestamp,
  wallDay,
} from '../../src/domain/calendar.ts';
import type { PlainDate } from '../../src/domain/ids.ts';

const date = (text: string) => text as PlainDate;

test.each(['2026-12-31', '2024-02-29', '2026-01-01', '9999-12-31'])('%s is a date', (text) => {
  expect(isPlainDate(text)).toBe(true);
});
test.each([
  '2026-02-30',
  '2026-02-29',
  '2026-13-01',
  '2026-00-10',
  '2026-1-1',
  '20261231',
  '2026-12-31T00:00',
  '',
  'today',
])('%j is not a date', (text) => {
  expect(isPlainDate(text)).toBe(false);
});

test('timestamps sort as text to the end of the calendar, although the last evening in New York is the year 10000 in UTC', () => {
  const evening = momentOn(wallDay(date('9999-12-31'), 'America/New_York'), 20);
  expect(toTimestamp(evening) > toTimestamp(Date.parse('2026-12-01T00:00:00Z'))).toBe(true);
  expect(toTimestamp(evening)).toBe('9999-12-31T23:59:59.999Z');
});

test('a timestamp is correct before 1970 and between two milliseconds, too', () => {
  const moment = fc.integer({ min: Date.parse('0000-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') });
  fc.assert(
    fc.property(moment, fc.constantFrom(0, 0.25, 0.75), (milliseconds, rest) => {
      expect(toTimestamp(milliseconds)).toBe(new Date(milliseconds).toISOString());
      expect(toTimestamp(milliseconds + rest)).toBe(new Date(milliseconds + rest).toISOString());
    }),
  );
  expect(() => toTimestamp(Number.NaN)).toThrow(RangeError);
});

test.each(['Europe/Berlin', 'America/New_York', 'Pacific/Auckland', 'UTC'])('%s is a zone', (zone) => {
  expect(isTimeZone(zone)).toBe(true);
});
test.each(['Berlin', '+02:00', '', 'Mars/Olympus'])('%j is not a zone', (zone) => {
  expect(isTimeZone(zone)).toBe(false);
});

describe('the same moment has different dates', () => {
  const moment = Date.parse('2026-11-20T23:30:00Z');
  test.each([
    ['Europe/Berlin', '2026-11-21'],
    ['America/New_York', '2026-11-20'],
    ['Pacific/Auckland', '2026-11-21'],
  ])('%s: %s', (zone, expected) => {
    expect(localDate(moment, zone)).toBe(expected);
  });
});

test('wall-clock hours convert to moments, across clock changes', () => {
  const berlin = (day: string) => wallDay(date(day), 'Europe/Berlin');
  const iso = (day: string, hour: number) => new Date(momentOn(berlin(day), hour)).toISOString();
  expect(iso('2026-07-01', 12)).toBe('2026-07-01T10:00:00.000Z');
  expect(iso('2026-12-01', 12.5)).toBe('2026-12-01T11:30:00.000Z');
  expect(iso('2026-12-31', 24)).toBe('2026-12-31T23:00:00.000Z');
  expect(iso('2027-03-28', 2)).toBe('2027-03-28T01:00:00.000Z');
  expect(iso('2027-03-28', 24)).toBe('2027-03-28T22:00:00.000Z');
  expect(hourBeginsOn(berlin('2027-03-28'), 2)).toBe(false);
  expect(hourBeginsOn(berlin('2027-03-28'), 3)).toBe(true);
  expect(hourBeginsOn(berlin('2027-10-31'), 2)).toBe(true);
});

test('the hour after a moment is the one that the clock shows, or the one at which it was set back', () => {
  const berlin = (day: string) => wallDay(date(day), 'Europe/Berlin');
  const [usual, spring, autumn] = [berlin('2026-12-01'), berlin('2027-03-28'), berlin('2027-10-31')];
  const after = (day: ReturnType<typeof berlin>, hours: number) => hourFrom(day, day.start + hours * 3_600_000);
  expect([0, 2.25, 24].map((hours) => after(usual, hours))).toEqual([0, 2.25, 24]);
  expect([1.5, 2, 2.5, 23].map((hours) => after(spring, hours))).toEqual([1.5, 3, 3.5, 24]);
  expect([2.5, 3, 3.5, 4, 4.5, 25].map((hours) => after(autumn, hours))).toEqual([2.5, 3, 3, 3, 3.5, 24]);
});

test('a zone that changes its clock by half an hour, at midnight, or skips a whole day', () => {
  const lordHowe = wallDay(date('2026-10-04'), 'Australia/Lord_Howe');
  expect(lordHowe.end - lordHowe.start).toBe(23.5 * 3_600_000);
  // From 02:00 to 02:30: the beginning of the hour does not exist.
  expect([1, 2, 3].map((hour) => hourBeginsOn(lordHowe, hour))).toEqual([true, false, true]);
  const back = wallDay(date('2027-04-04'), 'Australia/Lord_Howe');
  expect([0, 1, 2, 3, 23].map((hour) => hourBeginsOn(back, hour))).toEqual([true, true, true, true, true]);
  // From 02:45 to 03:45.
  const chatham = wallDay(date('2027-09-26'), 'Pacific/Chatham');
  expect([2, 3, 4].map((hour) => hourBeginsOn(chatham, hour))).toEqual([true, false, true]);
  // The last hour of a day is skipped.
  const nuuk = wallDay(date('2027-03-27'), 'America/Nuuk');
  expect([22, 23].map((hour) => hourBeginsOn(nuuk, hour))).toEqual([true, false]);
  expect(momentOn(nuuk, 23)).toBe(nuuk.end);
  const beirut = wallDay(date('2026-03-29'), 'Asia/Beirut');
  expect(hourBeginsOn(beirut, 0)).toBe(false);
  expect(hourBeginsOn(beirut, 1)).toBe(true);
  const apia = wallDay(date('2011-12-30'), 'Pacific/Apia');
  expect(apia.end - apia.start).toBe(0);
  expect(hourBeginsOn(apia, 12)).toBe(false);
});

test.each([
  ['2026-12-01', 'Europe/Berlin'],
  ['2027-03-28', 'Europe/Berlin'],
  ['2026-10-25', 'Europe/Berlin'],
  ['2026-10-04', 'Australia/Lord_Howe'],
  ['2026-03-29', 'Asia/Beirut'],
  ['2026-12-01', 'Asia/Kathmandu'],
])('on %s in %s, the hours that have begun are those whose moment has come', (plain, zone) => {
  const day = wallDay(date(plain), zone);
  for (let now = day.start - 900_000; now <= day.end + 900_000; now += 450_000) {
    const begun = hoursBegun(day, now);
    for (let hour = 0; hour < 24; hour += 1) expect(momentOn(day, hour) <= now, `${hour} at ${now}`).toBe(hour < begun);
  }
});

test('today is correct around every midnight, in any order of calls', () => {
  const zone = 'America/New_York';
  for (const [moment, expected] of [
    ['2026-03-08T04:59:59.999Z', '2026-03-07'],
    ['2026-03-08T05:00:00Z', '2026-03-08'],
    ['2026-03-09T03:59:59.999Z', '2026-03-08'],
    ['2026-03-09T04:00:00Z', '2026-03-09'],
    ['2026-03-08T05:00:00Z', '2026-03-08'],
  ] as const)
    expect(localDate(Date.parse(moment), zone)).toBe(expected);
});
