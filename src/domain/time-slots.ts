import { hourExistsOn, momentOn, type WallDay, wallDay } from './calendar.ts';
import type { PlainDate } from './ids.ts';
import type { Space } from './space.ts';

/** The hours a booking occupies: from `start` up to, not including, `until`, which may be fractional. */
export type Interval = { readonly start: number; readonly until: number };

/** One start hour of a space on a date (docs/specification.md#resources). */
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

/** startHour + durationHours, rounded up to a whole hour, at most 23 (docs/decisions/slots.md). */
export const endHourOf = (space: Pick<Space, 'durationHours'>, startHour: number): number =>
  Math.min(23, Math.ceil(startHour + space.durationHours));

/** Hours left inside the window, or undefined if the whole event fits (docs/decisions/slots.md). */
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

/** Whether an event could start at this hour, bookings aside: the hour exists in the zone and has not passed. */
export const canStart = (day: WallDay, hour: number, now: number): boolean =>
  momentOn(day, hour) > now && hourExistsOn(day, hour);

/**
 * One slot per start hour of the window. A slot is open if the space is active, the hour has not passed and the event, cut
 * off at the end of the window, overlaps no booking (docs/decisions/slots.md).
 */
export function timeSlots(space: Space, date: PlainDate, taken: readonly Interval[], now: number): TimeSlot[] {
  const day = wallDay(date, space.timeZone);
  const slots: TimeSlot[] = [];
  for (let hour = space.windowStart; hour < space.windowEnd; hour += 1) {
    const use = { start: hour, until: usageEnd(space, hour) };
    const isAvailable = space.active && !taken.some((held) => overlaps(held, use)) && canStart(day, hour, now);
    const usageHours = reducedUsage(space, hour);
    const slot = { hour, label: hourLabel(hour), isAvailable };
    slots.push(usageHours === undefined ? slot : { ...slot, usageHours });
  }
  return slots;
}
