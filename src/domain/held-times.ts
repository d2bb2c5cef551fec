import type { BookingTerms } from './booking-events.ts';
import { lengthOf } from './booking-moments.ts';
import { momentOn, type WallDay, wallDay } from './calendar.ts';
import type { TimeClosed } from './events.ts';

/**
 * From `from` up to, not including, `until`, in milliseconds since the epoch. What holds a space is compared as intervals of moments, because
 * the clocks skip some hours and show others twice (docs/decisions/time.md).
 */
export type Interval = { readonly from: number; readonly until: number };

/** Whether two intervals have some time in common. Hours that the clocks skip have no time. */
export const overlaps = (a: Interval, b: Interval): boolean => Math.max(a.from, b.from) < Math.min(a.until, b.until);

/** An interval with some hours before and after it. */
export const widened = ({ from, until }: Interval, hours: number): Interval => ({
  from: from - hours * 3_600_000,
  until: until + hours * 3_600_000,
});

/** The hours of a booking on its date. */
export type BookedHours = Pick<BookingTerms, 'startHour' | 'durationHours' | 'usageHours' | 'timeZone'>;
/** The hours of a closed time or an own event on a date, by the clock of the community. */
export type ClosedHours = Pick<TimeClosed['data'], 'kind' | 'start' | 'until'>;

/** What holds the hours of a space on a date, as events and read models store it. */
export type HeldHours<T extends BookedHours = BookedHours> = {
  /** All bookings except cancelled ones. */
  readonly taken: readonly T[];
  /** Closed times and own events. */
  readonly closed: readonly ClosedHours[];
};

/** The same as intervals. */
export type HeldTimes<T extends BookedHours = BookedHours> = {
  readonly taken: readonly (Interval & { readonly booking: T })[];
  readonly closed: readonly Interval[];
  readonly ownEvents: readonly Interval[];
};

/** What holds the hours of a day by the present clock of the community. A booking follows the clock of its request. */
export function heldTimes<T extends BookedHours>(day: WallDay, { taken, closed }: HeldHours<T>): HeldTimes<T> {
  return {
    taken: taken.map((booking) => {
      const { from, until } = bookedTime(day, booking);
      return { from, until, booking };
    }),
    closed: timesOf('Closure', day, closed),
    ownEvents: timesOf('OwnEvent', day, closed),
  };
}

/** Most days have no closed times. */
const NONE: readonly Interval[] = [];

const timesOf = (wanted: ClosedHours['kind'], day: WallDay, closed: readonly ClosedHours[]): readonly Interval[] =>
  closed.length === 0 ? NONE : closed.filter(({ kind }) => kind === wanted).map((hours) => closedTime(day, hours));

/** When a booking on this date holds its space. */
export function bookedTime(day: WallDay, booking: BookedHours): Interval {
  const itsDay = booking.timeZone === day.zone ? day : wallDay(day.date, booking.timeZone);
  const from = momentOn(itsDay, booking.startHour);
  return { from, until: from + lengthOf(booking) };
}

/** When a closed time or an own event holds its space. */
export const closedTime = (day: WallDay, { start, until }: Pick<ClosedHours, 'start' | 'until'>): Interval => ({
  from: momentOn(day, start),
  until: momentOn(day, until),
});
