import { DETAIL_LABELS } from '../../contract/booking.ts';
import type { BookingDetails } from '../../domain/booking-details.ts';
import { localDate } from '../../domain/calendar.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import type { Space } from '../../domain/space.ts';
import { clock, longDate } from '../../html/formats.ts';
import { problemOf } from '../parts/forms.ts';
import type { PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import { CLOSED, type StartTimes } from './start-times.ts';

type Queries = PageDeps['queries'];

const SENT_BEFORE =
  'This form was already sent, and its request is in My bookings. Nothing was sent this time. To request this as well, send it again.';

/** The start times of a space on a date; none if the account may not see it, or the date is over. */
export async function startTimes(
  { availability }: Pick<Queries, 'availability'>,
  wanted: Parameters<Queries['availability']>[0],
): Promise<StartTimes> {
  const result = await availability(wanted);
  return isRefusal(result)
    ? { slots: [], closed: () => undefined, freeFrom: (hour) => hour }
    : {
        slots: result.timeSlots(),
        closed: (hour) => result.closed(hour),
        freeFrom: (hour) => result.freeFrom(hour),
      };
}

/** Why a request was refused, by field and in the words of the console: the refusal itself has those of the API. */
export async function whyRefused(
  queries: Pick<Queries, 'availability'>,
  { account, now }: { readonly account: Parameters<Queries['availability']>[0]['account']; readonly now: number },
  space: Space,
  { date, startHour }: Pick<BookingDetails, 'date' | 'startHour'>,
  refusal: Refusal,
): Promise<Problems> {
  if (refusal.reason === 'KeyReused') return { '': SENT_BEFORE };
  if (refusal.refused !== 'SlotUnavailable' && (refusal.refused !== 'BookingNotAllowed' || refusal.field !== undefined))
    return problemOf(refusal, DETAIL_LABELS);
  if (date < localDate(now, space.timeZone)) return { date: `${longDate(date)} is over. Choose another day.` };
  const { closed } = await startTimes(queries, { account, spaceId: space.spaceId, date });
  const kind = closed(startHour);
  // The rule is another one than that the hour is closed.
  if (kind === undefined && refusal.refused !== 'SlotUnavailable') return problemOf(refusal, DETAIL_LABELS);
  const why = kind === undefined ? '' : `: ${CLOSED[kind].long(space)}`;
  return { startHour: `${clock(startHour)} is no longer free${why}. Choose another time.` };
}
