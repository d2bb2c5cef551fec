import { weekdayIndex } from './calendar.ts';
import type { DayHours } from './events.ts';
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
  const days = [...Object.values(space.special ?? {}), ...(space.week?.length ? space.week : [space])];
  return days.some((day) => day !== 'closed' && isInside(day, hour));
}

export const isInside = ({ windowStart, windowEnd }: DayHours, hour: number): boolean =>
  hour >= windowStart && hour < windowEnd;

/** Whether a booking keeps to the hours of its day. */
export const isWithinHours = (
  terms: DayTerms,
  { startHour, freeFrom }: { readonly startHour: number; readonly freeFrom: number },
): boolean => terms.isClosedDay !== true && isInside(terms, startHour) && freeFrom <= terms.windowEnd;

/** Whether closed times leave some hours of a day open. */
export function isOpenDay(
  { isClosedDay, windowStart, windowEnd }: DayTerms,
  closed: readonly { readonly start: number; readonly until: number }[],
): boolean {
  if (isClosedDay) return false;
  let from = windowStart;
  for (const { start, until } of closed.toSorted((a, b) => a.start - b.start))
    if (start <= from) from = Math.max(from, until);
  return from < windowEnd;
}
