import { momentOn, wallDay } from './calendar.ts';
import { termsOn } from './day-terms.ts';
import { type ClosedHours, closedTime } from './held-times.ts';
import type { PlainDate } from './ids.ts';
import type { Space } from './space.ts';

const HOUR_MS = 3_600_000;

/** The hours in which brands could book a space, and those that they booked. */
export type Occupancy = { readonly open: number; readonly booked: number };

/** The occupancy of a space in a month, in the month before and in the same month a year before. */
export type MonthOccupancy = {
  /** YYYY-MM. */
  readonly month: string;
  readonly space: Space;
  readonly current: Occupancy;
  readonly monthBefore: Occupancy;
  readonly yearBefore: Occupancy;
};

/**
 * How many hours a space is open on a date, less its closed times: the hours that pass, which a change of the clocks makes more or fewer than
 * the clock shows. Own events leave them open.
 */
export function openHoursOn(space: Space, date: PlainDate, held: readonly ClosedHours[]): number {
  const { isClosedDay, windowStart, windowEnd, timeZone } = termsOn(space, date);
  if (isClosedDay) return 0;
  const day = wallDay(date, timeZone);
  const end = momentOn(day, windowEnd);
  const closed = held.filter(({ kind }) => kind === 'Closure').map((hours) => closedTime(day, hours));
  let from = momentOn(day, windowStart);
  let open = 0;
  for (const time of closed.toSorted((a, b) => a.from - b.from)) {
    open += Math.max(0, Math.min(time.from, end) - from);
    from = Math.max(from, time.until);
  }
  return (open + Math.max(0, end - from)) / HOUR_MS;
}

/** How much of the open hours is booked, in whole percent. Undefined without open hours. More than 100 if hours were closed over bookings. */
export const percentBooked = ({ open, booked }: Occupancy): number | undefined =>
  open === 0 ? undefined : Math.round((100 * booked) / open);
