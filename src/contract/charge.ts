import type { BookingDocument } from '../../projections/bookings.ts';
import { localTime } from '../domain/calendar.ts';
import type { ChargeTotals } from '../domain/charges.ts';
import type { Cents, Timestamp } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import { toAmount } from '../domain/pricing.ts';

/** A charge or refund as a query returns it. */
export type OperatorCharge = {
  readonly kind: 'charge' | 'refund';
  readonly at: Timestamp;
  readonly booking: BookingDocument;
  readonly amount: Cents;
  readonly communityName: string;
  readonly eventId: string;
};

/** A charge or refund as the command line prints it with `--json`. */
export const toOperatorCharge = ({ kind, at, booking, amount, communityName, eventId }: OperatorCharge) => ({
  kind,
  at,
  localTime: localTime(Date.parse(at), booking.timeZone),
  ...picked(booking, ['timeZone', 'bookingId', 'communityId']),
  communityName,
  ...picked(booking, ['spaceId', 'spaceName', 'date', 'startHour', 'endHour']),
  amount: toAmount(amount),
  currency: booking.currency,
  eventId,
});

/** Charges and refunds in one currency. `net` is negative if more was refunded than charged. */
export const toOperatorTotal = ({ currency, charged, refunded }: Omit<ChargeTotals, 'earned'>) => ({
  currency,
  charged: toAmount(charged),
  refunded: toAmount(refunded),
  net: (charged - refunded) / 100,
});
