import { type Decision, isRefusal, type Refusal, refuse } from './decision.ts';
import type { BookingRequested, TimeClosed, TimeReopened } from './events.ts';
import { hoursBetween } from './hours.ts';
import type { SpaceDay } from './space-day.ts';
import { type Interval, overlaps } from './time-slots.ts';

/** What holds hours of a day. */
export type Holder = { readonly booking: BookingRequested['data'] } | { readonly closed: TimeClosed['data'] };

/** The booking, closed time or own event that holds some of these hours. */
export function holderOf({ open, closed }: SpaceDay, hours: Interval): Holder | undefined {
  for (const { request } of open.values())
    if (overlaps({ start: request.startHour, until: request.freeFrom }, hours)) return { booking: request };
  for (const other of closed.values()) if (overlaps(other, hours)) return { closed: other };
  return undefined;
}

/**
 * The refusal of an own event. Only the community sees it.
 * @param title of the closed time or own event that holds the hours, if it is known
 */
export function notFree(
  { date, ...hours }: Interval & { readonly date: string },
  holder: Holder,
  title?: string,
): Refusal {
  const is = `${hoursBetween(hours.start, hours.until)} on ${date} is not free`;
  if ('booking' in holder) {
    const { bookingId, brandName, startHour, freeFrom } = holder.booking;
    return refuse(
      'SlotUnavailable',
      `${is}: booking #${bookingId} of ${brandName}, ${hoursBetween(startHour, freeFrom)}.`,
    );
  }
  const { kind, start, until } = holder.closed;
  const what = kind === 'OwnEvent' ? 'another own event' : 'a closed time';
  return refuse('SlotUnavailable', `${is}: ${what}${title ? `, “${title}”` : ''}, ${hoursBetween(start, until)}.`);
}

/**
 * Closes hours of a day for a closure. Bookings that are there stay. An own event needs free hours (`SlotUnavailable`). No event if
 * the closure closes the day already. A closure that has ended on this day never closes it again, however late its process is.
 */
export function closeTime(day: SpaceDay, command: TimeClosed['data']): Decision<TimeClosed> {
  const { closureId, kind } = command;
  if (day.reopened.has(closureId)) return refuse('ResourceNotFound', `Closed time ${closureId} has ended.`);
  if (day.closed.has(closureId)) return [];
  const holder = kind === 'OwnEvent' ? holderOf(day, command) : undefined;
  if (holder !== undefined) return notFree(command, holder);
  return [{ type: 'TimeClosed', data: command }];
}

/**
 * Closes hours of a day, or, for an own event on hours that are not free, leaves the day out for good: a `TimeReopened`. So each day of a
 * closure has an event of it once the closure is complete, and a booking that is cancelled later changes nothing.
 */
export function closeOrLeaveOut(day: SpaceDay, command: TimeClosed['data']): Decision<TimeClosed | TimeReopened> {
  const decision = closeTime(day, command);
  if (!isRefusal(decision) || decision.refused !== 'SlotUnavailable') return decision;
  const { spaceId, communityId, date, closureId } = command;
  return [{ type: 'TimeReopened', data: { spaceId, communityId, date, closureId } }];
}

/** Ends a closure on a day, also where it closed nothing: from then on it cannot close it. No event if it has ended there already. */
export const reopenTime = (day: SpaceDay, command: TimeReopened['data']): Decision<TimeReopened> =>
  day.reopened.has(command.closureId) ? [] : [{ type: 'TimeReopened', data: command }];
