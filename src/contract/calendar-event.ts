import type { BookingDocument } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { endOf, startOf } from '../domain/booking-moments.ts';
import { defined } from '../domain/defined.ts';
import type { CalendarEvent } from './icalendar.ts';

/** The id of an event depends on no setting, such as the host, so that feeds and mails name the same event. */
export const uidOf = (id: string): string => `${id}@venue-booking`;

/** The booking as an event that only says when something is busy: no name, no title, no place, no address of a page. */
export const busyBooking = (booking: BookingDocument): CalendarEvent => ({
  uid: uidOf(`booking-${booking.bookingId}`),
  start: startOf(booking),
  end: endOf(booking),
  changedAt: booking.changedAt,
  isTentative: booking.status === 'Pending',
  summary: 'Busy',
});

/** The same as one of its parties sees it, with names and a link. */
export function namedBooking(
  booking: BookingDocument,
  { kind }: Pick<Account, 'kind'>,
  { communityName, publicUrl }: { readonly communityName: string | undefined; readonly publicUrl: string },
): CalendarEvent {
  const { bookingId, spaceName, brandName, status } = booking;
  const place = communityName === undefined ? spaceName : `${spaceName}, ${communityName}`;
  const what = kind === 'Community' ? `${brandName}, ${spaceName}` : place;
  const url = `${publicUrl}/console/bookings/${bookingId}`;
  return {
    ...busyBooking(booking),
    ...defined({ isCancelled: status === 'Cancelled' || undefined }),
    summary: status === 'Pending' ? `Request: ${what}` : what,
    location: kind === 'Community' ? spaceName : place,
    description: `Booking ${bookingId}: ${url}`,
    url,
  };
}
