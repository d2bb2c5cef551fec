import { type Decision, isRefusal, refuse } from './decision.ts';
import type { TimeClosed, TimeReopened } from './events.ts';
import { hoursBetween } from './hours.ts';
import { heldHours, type SpaceDay } from './space-day.ts';
import { overlaps } from './time-slots.ts';

/**
 * Closes hours of a day for a closure. Bookings that are there stay. An own event needs free hours (`SlotUnavailable`). No event if
 * the closure closes the day already. A closure that has ended on this day never closes it again, however late its process is.
 */
export function closeTime(day: SpaceDay, command: TimeClosed['data']): Decision<TimeClosed> {
  const { closureId, kind, date, start, until } = command;
  if (day.reopened.has(closureId)) return refuse('ResourceNotFound', `Closed time ${closureId} has ended.`);
  if (day.closed.has(closureId)) return [];
  const { taken, closed } = heldHours(day);
  if (kind === 'OwnEvent' && [...taken, ...closed].some((held) => overlaps(held, command)))
    return refuse('SlotUnavailable', `${hoursBetween(start, until)} on ${date} is not free.`);
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
