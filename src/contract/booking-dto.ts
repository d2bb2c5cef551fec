import type { Static } from 'typebox';
import type { BookingDocument } from '../../projections/bookings.ts';
import { toAmount } from '../domain/pricing.ts';
import type { BookingDto } from './schemas.ts';

/** A booking as the API shows it (docs/specification.md#resources). */
export const toBookingDto = (booking: BookingDocument): Static<typeof BookingDto> => ({
  id: booking.bookingId,
  spaceId: booking.spaceId,
  spaceName: booking.spaceName,
  date: booking.date,
  startHour: booking.startHour,
  endHour: booking.endHour,
  status: booking.status,
  totalPrice: toAmount(booking.totalPrice),
  createdAt: booking.createdAt,
  ...(booking.usageHours === undefined ? {} : { usageHours: booking.usageHours }),
});
