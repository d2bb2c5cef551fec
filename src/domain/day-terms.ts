import type { BookingTerms } from './booking-events.ts';
import { endOf } from './booking-moments.ts';
import { momentOn, wallDay, weekdayIndex } from './calendar.ts';
import type { DayHours } from './events.ts';
import { type ClosedHours, closedTime } from './held-times.ts';
import type { PlainDate } from './ids.ts';
import type { Space } from './space.ts';

/** The terms of a space on a date: its window and its fee are those of that date. */
export type DayTerms = Space & {
  /** The weekday is closed. The window is then the base one, so that answers have one. */
  readonly isClosedDay?: true;
};

/**
 * The terms of a space on a date: those of the date if it has special hours, else those of its weekday, else the base. Rules, prices and
 * pages use nothing else (docs/decisions/bookings.md).
 */
export function termsOn(space: Space, date: PlainDate): DayTerms {
  if (space.special === undefined && space.week === undefined) return space;
  const hours = space.special?.[date] ?? space.week?.[weekdayIndex(date)];
  if (hours === undefined) return space;
  return hours === 'closed' ? { ...space, isClosedDay: true } : { ...space, ...hours };
}

/** Whether an event can start at an hour on any date, by the hours of the space. */
export function isStartHour(space: Space, hour: number): boolean {
  if (space.special === undefined && space.week === undefined) return isInside(space, hour);
  const days = [...Object.values(space.special ?? {}), ...(space.week?.length ? space.week : [space])];
  return days.some((day) => day !== 'closed' && isInside(day, hour));
}

export const isInside = ({ windowStart, windowEnd }: DayHours, hour: number): boolean =>
  hour >= windowStart && hour < windowEnd;

/** Whether a booking keeps to the hours of its day. */
export function isWithinHours(
  terms: DayTerms,
  booking: Pick<BookingTerms, 'date' | 'timeZone' | 'startHour' | 'durationHours' | 'usageHours'>,
): boolean {
  if (terms.isClosedDay || !isInside(terms, booking.startHour)) return false;
  return endOf(booking) <= momentOn(wallDay(booking.date, booking.timeZone), terms.windowEnd);
}

/** Whether closed times leave some time of a day open. */
export function isOpenDay(
  { isClosedDay, windowStart, windowEnd, timeZone }: DayTerms,
  date: PlainDate,
  closed: readonly Pick<ClosedHours, 'start' | 'until'>[],
): boolean {
  if (isClosedDay) return false;
  const day = wallDay(date, timeZone);
  let open = momentOn(day, windowStart);
  for (const { from, until } of closed.map((hours) => closedTime(day, hours)).toSorted((a, b) => a.from - b.from))
    if (from <= open) open = Math.max(open, until);
  return open < momentOn(day, windowEnd);
}
