import { wallDay } from './calendar.ts';
import { type Decision, isRefusal, type Refusal, refuse } from './decision.ts';
import type { BookingRequested, TimeClosed, TimeReopened } from './events.ts';
import { bookedTime, type ClosedHours, closedTime, overlaps, widened } from './held-times.ts';
import { hoursBetween } from './hours.ts';
import type { ClosureId, PlainDate } from './ids.ts';
import { MAX_CLOSED_TIMES } from './limits.ts';
import type { Space } from './space.ts';
import type { SpaceDay } from './space-day.ts';

/**
 * What keeps an own event from its hours: a booking, a closed time, another own event, or that the clocks skip them. `Full`: the day holds as
 * many closed times and own events as a day may, which keeps a closed time from it, too. `NotItsDay`: what it would replace does not hold the day.
 */
export type Obstacle =
  | { readonly booking: BookingRequested['data'] }
  | { readonly closed: TimeClosed['data'] }
  | 'Skipped'
  | 'Full'
  | 'NotItsDay';

/** The terms of a space that its own events follow. */
type Terms = Pick<Space, 'timeZone' | 'gapHours'>;

/**
 * The first obstacle to a closed time or an own event on its day.
 * @param replaced the closed time that it takes the day over from
 */
export function obstacleTo(
  command: ClosedHours & { readonly date: PlainDate },
  { held, closed: all }: Pick<SpaceDay, 'held' | 'closed'>,
  { timeZone, gapHours = 0 }: Terms,
  replaced?: ClosureId,
): Obstacle | undefined {
  if (replaced !== undefined && !all.has(replaced)) return 'NotItsDay';
  const closed = new Map([...all].filter(([id]) => id !== replaced));
  if (closed.size >= MAX_CLOSED_TIMES) return 'Full';
  if (command.kind === 'Closure') return undefined;
  const day = wallDay(command.date, timeZone);
  const wanted = closedTime(day, command);
  if (wanted.from === wanted.until) return 'Skipped';
  const withGaps = widened(wanted, gapHours);
  for (const { request } of held.values())
    if (overlaps(bookedTime(day, request), withGaps)) return { booking: request };
  for (const other of closed.values()) if (overlaps(closedTime(day, other), wanted)) return { closed: other };
  return undefined;
}

/**
 * The refusal of a closed time or an own event. Only the community sees it.
 * @param title of the closed time or own event that holds the hours, if it is known
 */
export function notFree(
  { date, start, until }: Pick<TimeClosed['data'], 'date' | 'start' | 'until'>,
  obstacle: Obstacle,
  { gapHours = 0 }: Terms,
  title?: string,
): Refusal {
  const hours = `${hoursBetween(start, until)} on ${date}`;
  if (obstacle === 'Full')
    return refuse(
      'SlotUnavailable',
      `${date} has ${MAX_CLOSED_TIMES} closed times and own events, as many as a day may.`,
    );
  if (obstacle === 'NotItsDay') return refuse('SlotUnavailable', `${date} is not one of its days any more.`);
  if (obstacle === 'Skipped') return refuse('SlotUnavailable', `${hours} does not exist: the clocks skip it.`);
  if ('booking' in obstacle) {
    const { bookingId, brandName, startHour, freeFrom } = obstacle.booking;
    const gap = gapHours > 0 ? `, with ${gapHours} hours to keep free around it` : '';
    return refuse(
      'SlotUnavailable',
      `${hours} is not free: booking #${bookingId} of ${brandName}, ${hoursBetween(startHour, freeFrom)}${gap}.`,
    );
  }
  const { kind, ...other } = obstacle.closed;
  const what = kind === 'OwnEvent' ? 'another own event' : 'a closed time';
  return refuse(
    'SlotUnavailable',
    `${hours} is not free: ${what}${title ? `, “${title}”` : ''}, ${hoursBetween(other.start, other.until)}.`,
  );
}

/**
 * Closes hours of a day for a closure. Bookings that are there stay. An own event needs free hours, and the gap of the space between it and
 * bookings; a day holds a limited number of both (`SlotUnavailable`). No event if the closure closes the day already. A closure that has ended
 * on this day never closes it again, however late its process is.
 * @param replaced the closed time that ends on this day with the same append; without its hours, there is nothing to take over
 */
export function closeTime(
  day: SpaceDay,
  command: TimeClosed['data'],
  terms: Terms,
  replaced?: ClosureId,
): Decision<TimeClosed | TimeReopened> {
  const { closureId } = command;
  if (day.reopened.has(closureId)) return refuse('ResourceNotFound', `Closed time ${closureId} has ended.`);
  if (day.closed.has(closureId)) return [];
  const obstacle = obstacleTo(command, day, terms, replaced);
  if (obstacle !== undefined) return notFree(command, obstacle, terms);
  const closed = { type: 'TimeClosed', data: command } as const;
  return replaced === undefined ? [closed] : [opened(command, replaced), closed];
}

const opened = ({ spaceId, communityId, date }: TimeClosed['data'], closureId: ClosureId): TimeReopened => ({
  type: 'TimeReopened',
  data: { spaceId, communityId, date, closureId },
});

/**
 * Closes hours of a day, or, where that is not possible, leaves the day out for good: a `TimeReopened`. So each day of a closure has an event
 * of it once the closure is complete, and a booking that is cancelled later changes nothing. What it would have replaced stays on that day.
 */
export function closeOrLeaveOut(
  day: SpaceDay,
  command: TimeClosed['data'],
  terms: Terms,
  replaced?: ClosureId,
): Decision<TimeClosed | TimeReopened> {
  const decision = closeTime(day, command, terms, replaced);
  if (!isRefusal(decision) || decision.refused !== 'SlotUnavailable') return decision;
  return [opened(command, command.closureId)];
}

/** Ends a closure on a day, also where it closed nothing: from then on it cannot close it. No event if it has ended there already. */
export const reopenTime = (day: SpaceDay, command: TimeReopened['data']): Decision<TimeReopened> =>
  day.reopened.has(command.closureId) ? [] : [{ type: 'TimeReopened', data: command }];
