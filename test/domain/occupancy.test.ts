import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClosedHours } from '../../src/domain/held-times.ts';
import { openHoursOn, percentBooked } from '../../src/domain/occupancy.ts';
import { day, hall } from './bookings.fixture.ts';

const closed = (start: number, until: number): ClosedHours => ({ kind: 'Closure', start, until });
const DATE = day('2026-12-11');
/** The clocks of Berlin skip the hour from 2 to 3, and show it twice. */
const [SKIPPED, TWICE] = [day('2026-03-29'), day('2026-10-25')];
const berlin = { ...hall, timeZone: 'Europe/Berlin', windowStart: 0, windowEnd: 24 };

test('a space is open as many hours as pass, also where the clocks change', () => {
  expect(openHoursOn(hall, DATE, [])).toBe(hall.windowEnd - hall.windowStart);
  expect(openHoursOn(berlin, DATE, [])).toBe(24);
  expect(openHoursOn(berlin, SKIPPED, [])).toBe(23);
  expect(openHoursOn(berlin, TWICE, [])).toBe(25);
  expect(openHoursOn({ ...berlin, windowStart: 2, windowEnd: 3 }, SKIPPED, [])).toBe(0);
  expect(openHoursOn({ ...berlin, windowStart: 2, windowEnd: 3 }, TWICE, [])).toBe(2);
  expect(openHoursOn(berlin, SKIPPED, [closed(1, 4)])).toBe(21);
});

test('a closed day has no open hours, and a closed time takes its own', () => {
  const week = Array.from({ length: 7 }, () => 'closed' as const);
  expect(openHoursOn({ ...berlin, week }, DATE, [])).toBe(0);
  expect(openHoursOn({ ...berlin, week }, DATE, [closed(0, 24)])).toBe(0);
  expect(openHoursOn(berlin, DATE, [closed(0, 24)])).toBe(0);
  expect(openHoursOn(berlin, DATE, [closed(10, 12), closed(11, 14), closed(20, 24)])).toBe(16);
  expect(openHoursOn(berlin, DATE, [{ ...closed(10, 12), kind: 'OwnEvent' }])).toBe(24);
  const window = { ...berlin, windowStart: 9, windowEnd: 17 };
  expect(openHoursOn(window, DATE, [closed(0, 8)])).toBe(8);
  expect(openHoursOn(window, DATE, [closed(18, 24)])).toBe(8);
  expect(openHoursOn(window, DATE, [closed(8, 10), closed(16, 20)])).toBe(6);
});

const hour = fc.integer({ min: 0, max: 24 });
const hours = fc.tuple(hour, hour).filter(([from, until]) => from < until);

test('the open hours are those of the window that no closed time takes, counted one by one', () => {
  fc.assert(
    fc.property(hours, fc.array(hours, { maxLength: 6 }), ([windowStart, windowEnd], times) => {
      const free = Array.from({ length: 24 }, (_, at) => at).filter(
        (at) => at >= windowStart && at < windowEnd && !times.some(([from, until]) => at >= from && at < until),
      );
      const list = times.map(([from, until]) => closed(from, until));
      expect(openHoursOn({ ...berlin, windowStart, windowEnd }, DATE, list)).toBe(free.length);
    }),
  );
});

test('the share that is booked is a whole percent, and is unknown without open hours', () => {
  expect(percentBooked({ open: 0, booked: 3 })).toBeUndefined();
  expect(percentBooked({ open: 30, booked: 10 })).toBe(33);
  expect(percentBooked({ open: 4, booked: 8 })).toBe(200);
});
