import type { Account } from './account.ts';
import {
  hourBeginsOn,
  hourFrom,
  hoursBegun,
  isDaysLater,
  isYearsLater,
  localDate,
  momentOn,
  toTimestamp,
  type WallDay,
  wallDay,
} from './calendar.ts';
import { type DayTerms, isInside, termsOn } from './day-terms.ts';
import { defined } from './defined.ts';
import {
  type BookedHours,
  type HeldHours,
  type HeldTimes,
  heldTimes,
  type Interval,
  overlaps,
  widened,
} from './held-times.ts';
import type { BrandId, PlainDate } from './ids.ts';
import { MAX_YEARS_AHEAD } from './limits.ts';
import type { Space } from './space.ts';

const HOUR_MS = 3_600_000;

/** One start hour of a space on a date (docs/guides/rest-api.md#resources). */
export type TimeSlot = {
  /** 0-23. */
  readonly hour: number;
  readonly label: string;
  readonly isAvailable: boolean;
  /** Hours left inside the window; present only when the event would run past its end. */
  readonly usageHours?: number;
};

/** startHour + durationHours, rounded up to a whole hour, at most 23 (docs/decisions/bookings.md). */
const endHourOf = (space: Pick<Space, 'durationHours'>, startHour: number): number =>
  Math.min(23, Math.ceil(startHour + space.durationHours));

/** When an event that starts at an hour would use the space: for its duration, or until the window closes. */
export function useFrom(
  { durationHours, windowEnd }: Pick<DayTerms, 'durationHours' | 'windowEnd'>,
  day: WallDay,
  hour: number,
): Interval {
  const from = momentOn(day, hour);
  return { from, until: Math.min(from + durationHours * HOUR_MS, momentOn(day, windowEnd)) };
}

/** The hour from which the space is free after a use: if the clocks skip the end of the window, not the hour that they show then. */
export const freeFrom = ({ windowEnd }: Pick<DayTerms, 'windowEnd'>, day: WallDay, { until }: Interval): number =>
  Math.min(hourFrom(day, until), windowEnd);

/** Hours left inside the window, or undefined if the whole event fits (docs/decisions/bookings.md). */
export function reducedUsage(
  { durationHours }: Pick<DayTerms, 'durationHours'>,
  { from, until }: Interval,
): number | undefined {
  const hours = (until - from) / HOUR_MS;
  // The clocks may skip all hours from the start to the end of the window.
  return hours > 0 && hours < durationHours ? hours : undefined;
}

/** What an event that starts at an hour takes from its space: name, times and the time to cancel, as they are now. */
export function timesIn(space: Space, day: WallDay, startHour: number) {
  const terms = termsOn(space, day.date);
  const use = useFrom(terms, day, startHour);
  const usageHours = reducedUsage(terms, use);
  return {
    spaceName: space.name,
    endHour: endHourOf(space, startHour),
    durationHours: space.durationHours,
    timeZone: space.timeZone,
    freeFrom: freeFrom(terms, day, use),
    startsAt: toTimestamp(use.from),
    endsAt: toTimestamp(use.until),
    ...defined({ usageHours, cancelHours: space.cancelHours }),
  };
}

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
export type Closed<T extends BookedHours = BookedHours> =
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
export function whyClosed<T extends BookedHours>(
  space: Space,
  day: WallDay,
  hour: number,
  heldHours: HeldHours<T>,
  now: number,
): Closed<T> | undefined {
  const terms = termsOn(space, day.date);
  return (
    whyDayClosed(terms, day, now) ??
    whyNoStart(terms, day, hour, now) ??
    whatHolds(terms, useFrom(terms, day, hour), heldTimes(day, heldHours))
  );
}

/** Why no event can start on a day, even if all of its hours are free. */
function whyDayClosed(terms: DayTerms, { date }: WallDay, now: number): Closed<never> | undefined {
  if (!terms.active) return { why: 'Inactive' };
  if (isTooFar(terms, date, now)) return { why: 'TooFar' };
  return terms.isClosedDay ? { why: 'OutsideWindow' } : undefined;
}

/** Why no event can start at an hour, even if it is free. */
function whyNoStart(terms: DayTerms, day: WallDay, hour: number, now: number): Closed<never> | undefined {
  if (!isInside(terms, hour)) return { why: 'OutsideWindow' };
  const start = momentOn(day, hour);
  if (start <= now) return { why: 'Past' };
  if (!hourBeginsOn(day, hour)) return { why: 'Skipped' };
  return start <= noticeUntil(terms, now) ? { why: 'TooSoon' } : undefined;
}

function whatHolds<T extends BookedHours>(
  { gapHours = 0 }: DayTerms,
  use: Interval,
  { taken, closed, ownEvents }: HeldTimes<T>,
): Closed<T> | undefined {
  const withGaps = widened(use, gapHours);
  if (closed.some((time) => overlaps(time, use)) || ownEvents.some((time) => overlaps(time, withGaps)))
    return { why: 'Closed' };
  const by = taken.filter((time) => overlaps(time, withGaps));
  return by.length === 0 ? undefined : { why: 'Taken', by: by.map(({ booking }) => booking) };
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
  now + noticeHours * HOUR_MS;

/** Hours that a booking holds, and its status. */
export type TakenHours = BookedHours & { readonly brandId: BrandId; readonly status: 'Pending' | 'Approved' };

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

/**
 * The hours of a date at which an event can start if the time allows it, one bit for each. Together with {@link hoursInTime}, and for an active
 * space, these are the open ones of {@link timeSlots}.
 */
export function freeHours(space: Space, date: PlainDate, heldHours: HeldHours | undefined): number {
  const terms = termsOn(space, date);
  if (terms.isClosedDay) return 0;
  const day = wallDay(date, space.timeZone);
  const held = heldHours && heldTimes(day, heldHours);
  let hours = 0;
  for (let hour = terms.windowStart; hour < terms.windowEnd; hour += 1)
    if (
      hourBeginsOn(day, hour) &&
      (held === undefined || whatHolds(terms, useFrom(terms, day, hour), held) === undefined)
    )
      hours |= 1 << hour;
  return hours;
}

/** The hours of a date that are neither past, nor too soon or too far ahead to be requested, one bit for each. */
export function hoursInTime(
  space: Pick<Space, 'timeZone' | 'noticeHours' | 'horizonDays'>,
  date: PlainDate,
  now: number,
): number {
  if (isTooFar(space, date, now)) return 0;
  return EVERY_HOUR & ~((1 << hoursBegun(wallDay(date, space.timeZone), noticeUntil(space, now))) - 1);
}

const EVERY_HOUR = 2 ** 24 - 1;

/** One slot per start hour of the window of the date (docs/decisions/bookings.md). */
export function timeSlots(space: Space, date: PlainDate, heldHours: HeldHours, now: number): TimeSlot[] {
  const day = wallDay(date, space.timeZone);
  const terms = termsOn(space, date);
  const isClosed = whyDayClosed(terms, day, now) !== undefined;
  const held = heldTimes(day, heldHours);
  const slots: TimeSlot[] = [];
  for (let hour = terms.windowStart; hour < terms.windowEnd; hour += 1) {
    const use = useFrom(terms, day, hour);
    const isAvailable = !isClosed && (whyNoStart(terms, day, hour, now) ?? whatHolds(terms, use, held)) === undefined;
    const usageHours = reducedUsage(terms, use);
    const slot = { hour, label: hourLabel(hour), isAvailable };
    slots.push(usageHours === undefined ? slot : { ...slot, usageHours });
  }
  return slots;
}
