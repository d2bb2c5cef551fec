import { momentOn, wallDay } from './calendar.ts';
import type { BookingRequested } from './events.ts';

/**
 * When a booking starts, ends and expires, in milliseconds since the epoch, by the current time-zone rules. Its date, hours and zone are
 * authoritative; the stored moments follow the rules at the time of the request, and only help to find it (docs/decisions/time.md).
 */

const HOUR_MS = 3_600_000;

type Booked<F extends keyof BookingRequested['data']> = Pick<BookingRequested['data'], 'date' | 'timeZone' | F>;

/**
 * How far a stored moment may differ from the current rules. A zone that crosses the date line moves by 24 hours, and may change its
 * clocks as well.
 */
export const MAX_RULE_CHANGE_MS = 26 * HOUR_MS;

export const startOf = ({ date, timeZone, startHour }: Booked<'startHour'>): number =>
  momentOn(wallDay(date, timeZone), startHour);

/** How long a booking may use the space, in milliseconds. */
export const lengthOf = ({
  durationHours,
  usageHours = durationHours,
}: Pick<BookingRequested['data'], 'durationHours' | 'usageHours'>): number => Math.round(usageHours * HOUR_MS);

/** When the space is free again. */
export const endOf = (booking: Booked<'startHour' | 'durationHours' | 'usageHours'>): number =>
  startOf(booking) + lengthOf(booking);

/** Until when the brand may cancel. The community may until the event starts. */
export const cancellableUntil = (request: Booked<'startHour' | 'cancelHours'>): number =>
  startOf(request) - (request.cancelHours ?? 0) * HOUR_MS;

/** When a request expires unanswered: after the space's answer time, or at the start of the event if that is sooner. */
export function expiryOf(request: Booked<'startHour' | 'startsAt' | 'expiresAt'>): number {
  const start = startOf(request);
  // If the request was to expire at the start, the deadline moves with the start. Otherwise it is a fixed time after the request.
  return request.expiresAt === request.startsAt ? start : Math.min(start, Date.parse(request.expiresAt));
}
