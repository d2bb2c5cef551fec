import type { Account } from './account.ts';
import { hourExistsOn, isDaysLater, isYearsLater, localDate, momentOn, type WallDay, wallDay } from './calendar.ts';
import { type DayTerms, isInside, termsOn } from './day-terms.ts';
import type { BrandId, PlainDate } from './ids.ts';
import { MAX_YEARS_AHEAD } from './limits.ts';
import type { Space } from './space.ts';

/** The hours a booking occupies: from `start` up to, not including, `until`, which may be fractional. */
export type Interval = { readonly start: number; readonly until: number };

/** One start hour of a space on a date (docs/guides/rest-api.md#resources). */
export type TimeSlot = {
  /** 0-23. */
  readonly hour: number;
  readonly label: string;
  readonly isAvailable: boolean;
  /** Hours left inside the window; present only when the event would run past its end. */
  readonly usageHours?: number;
};

/** The hour at which an event that starts at `hour` stops using the space: after its duration, or when the window closes. */
export const usageEnd = (space: Pick<Space, 'durationHours' | 'windowEnd'>, hour: number): number =>
  Math.min(hour + space.durationHours, space.windowEnd);

/** startHour + durationHours, rounded up to a whole hour, at most 23 (docs/decisions/bookings.md). */
export const endHourOf = (space: Pick<Space, 'durationHours'>, startHour: number): number =>
  Math.min(23, Math.ceil(startHour + space.durationHours));

/** Hours left inside the window, or undefined if the whole event fits (docs/decisions/bookings.md). */
export const reducedUsage = (space: Pick<Space, 'durationHours' | 'windowEnd'>, hour: number): number | undefined => {
  const left = space.windowEnd - hour;
  return left < space.durationHours ? left : undefined;
};

/** What holds the hours of a space on a day. */
export type HeldHours<T extends Interval = Interval> = {
  /** Pending and Approved bookings. */
  readonly taken: readonly T[];
  /** Closed times and the community's own events. */
  readonly closed: readonly Interval[];
};

export const overlaps = (a: Interval, b: Interval): boolean => a.start < b.until && b.start < a.until;

const LABELS = Array.from(
  { length: 24 },
  (_, hour) => `${hour % 12 === 0 ? 12 : hour % 12}:00 ${hour < 12 ? 'AM' : 'PM'}`,
);

/** An hour on the 12-hour clock, such as `9:00 AM`. */
const hourLabel = (hour: number): string => LABELS[hour] ?? String(hour);

/**
 * Why no event can start at an hour. `TooFar`: the date is further ahead than bookings are taken. `TooSoon`: the hour begins before the
 * notice of the space is over. `Skipped`: the clocks skip the hour on that day. `Closed`: the community has closed hours of the event.
 */
export type Closed<T extends Interval = Interval> =
  | { readonly why: 'Inactive' }
  | { readonly why: 'TooFar' }
  | { readonly why: 'OutsideWindow' }
  | { readonly why: 'Past' }
  | { readonly why: 'TooSoon' }
  | { readonly why: 'Skipped' }
  | { readonly why: 'Closed' }
  /** The event would overlap these, or the time to keep free around them. */
  | { readonly why: 'Taken'; readonly by: readonly T[] };

/**
 * Why no event can start at this hour; undefined if one can. The single rule behind open hours, booking decisions and explanations
 * (docs/decisions/bookings.md).
 */
export const whyClosed = <T extends Interval>(
  space: Space,
  day: WallDay,
  hour: number,
  heldHours: HeldHours<T>,
  now: number,
): Closed<T> | undefined => whyClosedBy(termsOn(space, day.date), day, hour, heldHours, now);

function whyClosedBy<T extends Interval>(
  terms: DayTerms,
  day: WallDay,
  hour: number,
  { taken, closed }: HeldHours<T>,
  now: number,
): Closed<T> | undefined {
  if (!terms.active) return { why: 'Inactive' };
  if (isTooFar(terms, day.date, now)) return { why: 'TooFar' };
  if (terms.isClosedDay || !isInside(terms, hour)) return { why: 'OutsideWindow' };
  const start = momentOn(day, hour);
  if (start <= now) return { why: 'Past' };
  if (!hourExistsOn(day, hour)) return { why: 'Skipped' };
  if (start <= noticeUntil(terms, now)) return { why: 'TooSoon' };
  if (closed.length === 0 && taken.length === 0) return undefined;
  const use = { start: hour, until: usageEnd(terms, hour) };
  if (closed.some((time) => overlaps(time, use))) return { why: 'Closed' };
  const { gapHours = 0 } = terms;
  const withGaps = { start: use.start - gapHours, until: use.until + gapHours };
  const by = taken.filter((booking) => overlaps(booking, withGaps));
  return by.length === 0 ? undefined : { why: 'Taken', by };
}

/** Whether a date is too far ahead to be booked, by the clock of the space. */
export function isTooFar(
  { timeZone, horizonDays }: Pick<Space, 'timeZone' | 'horizonDays'>,
  date: PlainDate,
  now: number,
): boolean {
  const today = localDate(now, timeZone);
  return (
    isYearsLater(date, today, MAX_YEARS_AHEAD) || (horizonDays !== undefined && isDaysLater(date, today, horizonDays))
  );
}

/** How far ahead bookings are taken, in words: `5 years`, `90 days`. */
export const horizonOf = ({ horizonDays }: Pick<Space, 'horizonDays'>): string => {
  if (horizonDays === undefined) return `${MAX_YEARS_AHEAD} years`;
  return horizonDays === 1 ? '1 day' : `${horizonDays} days`;
};

/** The moment (milliseconds since the epoch) up to which events begin too soon to be requested now. */
export const noticeUntil = ({ noticeHours = 0 }: Pick<Space, 'noticeHours'>, now: number): number =>
  now + noticeHours * 3_600_000;

/** Hours that a booking holds, and its status. */
export type TakenHours = Interval & { readonly brandId: BrandId; readonly status: 'Pending' | 'Approved' };

/** Why an hour is closed, as shown to a brand: whether a booking or a request holds it, but not which. */
export type ClosedKind = Exclude<Closed['why'], 'Taken'> | 'Booked' | 'Requested' | 'BookedByYou' | 'RequestedByYou';

/**
 * What closes an hour, for an account. An approved booking takes precedence over a request, which may still be declined; among equals,
 * the account's own, because it can cancel that.
 */
export function closedKind(closed: Closed<TakenHours>, viewer: Account): ClosedKind {
  if (closed.why !== 'Taken') return closed.why;
  const approved = closed.by.filter(({ status }) => status === 'Approved');
  const firmest = approved.length > 0 ? approved : closed.by;
  const isOwn = viewer.kind === 'Brand' && firmest.some(({ brandId }) => brandId === viewer.id);
  if (approved.length > 0) return isOwn ? 'BookedByYou' : 'Booked';
  return isOwn ? 'RequestedByYou' : 'Requested';
}

/** One slot per start hour of the window of the date (docs/decisions/bookings.md). */
export function timeSlots(space: Space, date: PlainDate, heldHours: HeldHours, now: number): TimeSlot[] {
  const day = wallDay(date, space.timeZone);
  const terms = termsOn(space, date);
  const slots: TimeSlot[] = [];
  for (let hour = terms.windowStart; hour < terms.windowEnd; hour += 1) {
    const isAvailable = whyClosedBy(terms, day, hour, heldHours, now) === undefined;
    const usageHours = reducedUsage(terms, hour);
    const slot = { hour, label: hourLabel(hour), isAvailable };
    slots.push(usageHours === undefined ? slot : { ...slot, usageHours });
  }
  return slots;
}
