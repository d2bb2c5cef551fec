import type { BookingDocument, ReadableBooking } from '../../projections/bookings.ts';
import { furtherDetails } from '../contract/booking.ts';
import { hoursBetween } from '../domain/hours.ts';
import { formatAmount } from '../domain/pricing.ts';
import { fields } from './print.ts';

/** A booking, one field per line. */
export const bookingFacts = (booking: ReadableBooking): string =>
  fields({
    Booking: booking.bookingId,
    Status: booking.status,
    Space: `${booking.spaceId}, ${booking.spaceName}`,
    Brand: `${booking.brandId}, ${booking.brandName}`,
    When: `${booking.date}, ${hours(booking)}, ${booking.timeZone}`,
    Price: price(booking),
    ...Object.fromEntries(furtherDetails(booking).map(({ label, value }) => [label, value])),
    Cancelled: booking.cancelledBy && `by ${booking.cancelledBy}${booking.reason ? `: ${booking.reason}` : ''}`,
    Refund: booking.refund ? `${formatAmount(booking.refund)} ${booking.currency}` : undefined,
    Created: booking.createdAt,
  });

export const price = ({ totalPrice, currency }: BookingDocument) => `${formatAmount(totalPrice)} ${currency}`;

/** `09:00–11:30`: from the start until the space is free again. */
export const hours = ({ startHour, freeFrom }: BookingDocument) => hoursBetween(startHour, freeFrom);
