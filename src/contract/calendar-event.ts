import type { BookingDocument } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { endOf, startOf } from '../domain/booking-moments.ts';
import { defined } from '../domain/defined.ts';
import { addressLine, type HouseFacts } from '../domain/description.ts';
import { latestOf } from '../domain/extremes.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { CalendarEvent } from './icalendar.ts';

/**
 * The id of an event: the same in feeds and mails and with all settings, and another one in every store. A copy that an export or a backup
 * fills has the log of the original, and so its ids.
 */
export const uidOf = (id: string, logId: string): string => `${id}@${logId}.venue-booking`;

/** The booking as an event that only says when something is busy: no name, no title, no place, no address of a page. */
export const busyBooking = (booking: BookingDocument, logId: string): CalendarEvent => ({
  uid: uidOf(`booking-${booking.bookingId}`, logId),
  start: startOf(booking),
  end: endOf(booking),
  createdAt: booking.createdAt,
  changedAt: booking.changedAt,
  isTentative: booking.status === 'Pending',
  summary: 'Busy',
});

/** The community of a booking, as an event names it. */
export type NamedCommunity = { readonly name: string; readonly changedAt?: Timestamp; readonly house?: HouseFacts };

/** The same as one of its parties sees it, with names and a link. */
export function namedBooking(
  booking: BookingDocument,
  { kind }: Pick<Account, 'kind'>,
  {
    community,
    publicUrl,
    logId,
  }: { readonly community: NamedCommunity | undefined; readonly publicUrl: string; readonly logId: string },
): CalendarEvent {
  const { bookingId, spaceName, brandName, status } = booking;
  const place = community === undefined ? spaceName : `${spaceName}, ${community.name}`;
  const what = kind === 'Community' ? `${brandName}, ${spaceName}` : place;
  const { address, coordinates } = community?.house ?? {};
  const url = `${publicUrl}/console/bookings/${bookingId}`;
  return {
    ...busyBooking(booking, logId),
    changedAt: latestOf(booking.changedAt, kind === 'Brand' ? community?.changedAt : undefined),
    ...defined({ isCancelled: status === 'Cancelled' || undefined }),
    summary: status === 'Pending' ? `Request: ${what}` : what,
    location: kind === 'Community' ? spaceName : [place, address && addressLine(address)].filter(Boolean).join(', '),
    ...(kind === 'Brand' && defined({ coordinates })),
    description: `Booking ${bookingId}: ${url}`,
    url,
  };
}
