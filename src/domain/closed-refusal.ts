import type { BookingDetails } from './booking-details.ts';
import { localDate, toTimestamp, weekdayOf } from './calendar.ts';
import { termsOn } from './day-terms.ts';
import { type Refusal, refuse } from './decision.ts';
import type { Space } from './space.ts';
import { type Closed, horizonOf, noticeUntil } from './time-slots.ts';

/** The refusal of a request for an hour that is not free, in words for the brand. */
export function closedRefusal(closed: Closed, space: Space, { date, startHour }: BookingDetails, now: number): Refusal {
  if (closed.why === 'Inactive') return refuse('BookingNotAllowed', `Space ${space.spaceId} is not taking bookings.`);
  const today = localDate(now, space.timeZone);
  if (date < today)
    return refuse('BookingNotAllowed', `${date} is in the past: today is ${today} in ${space.timeZone}.`);
  if (closed.why === 'TooFar')
    return refuse(
      'BookingNotAllowed',
      `${date} is too far ahead: bookings are taken for the next ${horizonOf(space)}.`,
    );
  switch (closed.why) {
    case 'OutsideWindow': {
      const { windowStart, windowEnd, isClosedDay } = termsOn(space, date);
      return refuse(
        'SlotUnavailable',
        isClosedDay
          ? `The space is closed on ${weekdayOf(date)}s.`
          : `startHour ${startHour} is outside the window: ${windowStart} to ${windowEnd - 1}.`,
      );
    }
    case 'Past':
    case 'Skipped':
      return refuse(
        'SlotUnavailable',
        `${startHour}:00 on ${date} is in the past, or skipped by a clock change, in ${space.timeZone}.`,
      );
    case 'TooSoon':
      return refuse(
        'BookingNotAllowed',
        `Events must be requested ${space.noticeHours} hours ahead: now, those that start after ${toTimestamp(noticeUntil(space, now))}.`,
      );
    case 'Closed':
    case 'Taken': {
      const what = closed.why === 'Closed' ? 'hours that the community has closed' : 'another booking of this space';
      const gap = space.gapHours ? `, or the ${space.gapHours} hours to keep free around bookings` : '';
      return refuse('SlotUnavailable', `${startHour}:00 on ${date} overlaps ${what}${gap}.`);
    }
    default:
      return closed satisfies never;
  }
}
