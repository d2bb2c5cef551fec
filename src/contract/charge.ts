import type { ListedPayment, PaymentTotal } from '../domain/payment.ts';
import { picked } from '../domain/picked.ts';
import { toAmount } from '../domain/pricing.ts';

/** A charge or refund as the command line prints it with `--json`. */
export const toOperatorPayment = ({ kind, at, localTime, community, booking, amount, eventId }: ListedPayment) => ({
  ...{ kind, at, localTime, timeZone: community.timeZone },
  ...picked(booking, ['bookingId', 'communityId']),
  communityName: community.name,
  ...picked(booking, ['spaceId', 'spaceName', 'date', 'startHour', 'endHour']),
  amount: toAmount(amount),
  currency: booking.currency,
  eventId,
});

/** Charges and refunds in one currency. `net` is negative if more was refunded than charged. */
export const toOperatorTotal = ({ currency, charged, refunded }: PaymentTotal) => ({
  currency,
  charged: toAmount(charged),
  refunded: toAmount(refunded),
  net: (charged - refunded) / 100,
});
