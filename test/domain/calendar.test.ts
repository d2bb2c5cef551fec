import { describe, expect, test } from 'vitest';
import { hourExists, isPlainDate, isTimeZone, localDate, momentOf } from '../../src/domain/calendar.ts';
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
])('%j is no date', (text) => {
  expect(isPlainDate(text)).toBe(false);
});

test.each(['Europe/Berlin', 'America/New_York', 'Pacific/Auckland', 'UTC'])('%s is a zone', (zone) => {
  expect(isTimeZone(zone)).toBe(true);
});
test.each(['Berlin', '+02:00', '', 'Mars/Olympus'])('%j is no zone', (zone) => {
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

test('wall-clock hours become moments, through clock changes', () => {
  const iso = (day: string, hour: number) => new Date(momentOf(date(day), hour, 'Europe/Berlin')).toISOString();
  expect(iso('2026-07-01', 12)).toBe('2026-07-01T10:00:00.000Z');
  expect(iso('2026-12-01', 12.5)).toBe('2026-12-01T11:30:00.000Z');
  expect(iso('2026-12-31', 24)).toBe('2026-12-31T23:00:00.000Z');
  expect(iso('2027-03-28', 2)).toBe('2027-03-28T01:00:00.000Z');
  expect(hourExists(date('2027-03-28'), 2, 'Europe/Berlin')).toBe(false);
  expect(hourExists(date('2027-03-28'), 3, 'Europe/Berlin')).toBe(true);
  expect(hourExists(date('2027-10-31'), 2, 'Europe/Berlin')).toBe(true);
});
