import type { BookingDocument } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { startOf } from '../domain/booking-moments.ts';
import { LAST_ZONE, localDate } from '../domain/calendar.ts';
import { isWithinHours, termsOn } from '../domain/day-terms.ts';
import type { Space } from '../domain/space.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import type { createBookingQueries } from './bookings.ts';

/**
 * The requests and bookings to come that the hours of these spaces leave outside, in the order of lists. The spaces have the hours that a
 * community is about to save.
 */
export function createOutsideHours(
  { clock }: { clock(): number },
  { list }: Pick<ReturnType<typeof createBookingQueries>, 'list'>,
) {
  return async (account: Account, spaces: readonly Space[]): Promise<readonly BookingDocument[]> => {
    const byId = new Map(spaces.map((space) => [space.spaceId, space]));
    const now = clock();
    const outside: BookingDocument[] = [];
    const nextSlice = yieldEvery(5);
    for await (const booking of list(account, { startDate: localDate(now, LAST_ZONE) })) {
      await nextSlice();
      const space = byId.get(booking.spaceId);
      if (space === undefined || (booking.status !== 'Pending' && booking.status !== 'Approved')) continue;
      if (startOf(booking) > now && !isWithinHours(termsOn(space, booking.date), booking)) outside.push(booking);
    }
    return outside;
  };
}
