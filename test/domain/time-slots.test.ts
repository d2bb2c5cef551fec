import { describe, expect, test } from 'vitest';
import { timeSlots } from '../../src/domain/time-slots.ts';
import { at, day, hall } from './bookings.fixture.ts';

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
  test('when the clock skips its hour', () => {
    const night = { ...hall, windowStart: 0, windowEnd: 6, durationHours: 1 };
    expect(open(timeSlots(night, day('2027-03-28'), [], now))).toEqual([0, 1, 3, 4, 5]);
    expect(open(timeSlots(night, day('2027-10-31'), [], now))).toEqual([0, 1, 2, 3, 4, 5]);
  });
});
