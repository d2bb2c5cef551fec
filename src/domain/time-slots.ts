import type { Account } from './account.ts';
import { hourExistsOn, isYearsLater, localDate, momentOn, type WallDay, wallDay } from './calendar.ts';
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

export const overlaps = (a: Interval, b: Interval): boolean => a.start < b.until && b.start < a.until;

const LABELS = Array.from(
  { length: 24 },
  (_, hour) => `${hour % 12 === 0 ? 12 : hour % 12}:00 ${hour < 12 ? 'AM' : 'PM'}`,
);

/** An hour on the 12-hour clock, such as `9:00 AM`. */
const hourLabel = (hour: number): string => LABELS[hour] ?? String(hour);

/**
 * Why no event can start at an hour. `TooFar`: the date is more than {@link MAX_YEARS_AHEAD} years ahead. `Skipped`: the clocks skip the
 * hour on that day.
 */
export type Closed<T extends Interval = Interval> =
  | { readonly why: 'Inactive' }
  | { readonly why: 'TooFar' }
  | { readonly why: 'OutsideWindow' }
  | { readonly why: 'Past' }
  | { readonly why: 'Skipped' }
  /** The event would overlap these. */
  | { readonly why: 'Taken'; readonly by: readonly T[] };

/**
 * Why no event can start at this hour; undefined if one can. The single rule behind open hours, booking decisions and explanations
 * (docs/decisions/bookings.md).
 * @param taken hours that are held by Pending and Approved bookings
 */
export function whyClosed<T extends Interval>(
  space: Space,
  day: WallDay,
  hour: number,
  taken: readonly T[],
  now: number,
): Closed<T> | undefined {
  if (!space.active) return { why: 'Inactive' };
  if (isTooFar(day, now)) return { why: 'TooFar' };
  if (hour < space.windowStart || hour >= space.windowEnd) return { why: 'OutsideWindow' };
  if (momentOn(day, hour) <= now) return { why: 'Past' };
  if (!hourExistsOn(day, hour)) return { why: 'Skipped' };
  if (taken.length === 0) return undefined;
  const use = { start: hour, until: usageEnd(space, hour) };
  const by = taken.filter((booking) => overlaps(booking, use));
  return by.length === 0 ? undefined : { why: 'Taken', by };
}

/** Whether a day is too far ahead to be booked, by the date in its zone. */
export const isTooFar = ({ date, zone }: Pick<WallDay, 'date' | 'zone'>, now: number): boolean =>
  isYearsLater(date, localDate(now, zone), MAX_YEARS_AHEAD);

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

/** One slot per start hour of the window (docs/decisions/bookings.md). */
export function timeSlots(space: Space, date: PlainDate, taken: readonly Interval[], now: number): TimeSlot[] {
  const day = wallDay(date, space.timeZone);
  const slots: TimeSlot[] = [];
  for (let hour = space.windowStart; hour < space.windowEnd; hour += 1) {
    const isAvailable = whyClosed(space, day, hour, taken, now) === undefined;
    const usageHours = reducedUsage(space, hour);
    const slot = { hour, label: hourLabel(hour), isAvailable };
    slots.push(usageHours === undefined ? slot : { ...slot, usageHours });
  }
  return slots;
}
