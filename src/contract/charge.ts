import type { ListedPayment, PaymentTotal } from '../domain/payment.ts';
import { toAmount } from '../domain/pricing.ts';

/** A charge or refund as the command line prints it with `--json`. */
export const toOperatorPayment = ({ kind, at, localTime, community, booking, amount, eventId }: ListedPayment) => {
  const { bookingId, communityId, spaceId, spaceName, date, startHour, endHour, currency } = booking;
  return {
    kind,
    at,
    localTime,
    timeZone: community.timeZone,
    bookingId,
    communityId,
    communityName: community.name,
    spaceId,
    spaceName,
    date,
    startHour,
    endHour,
    amount: toAmount(amount),
    currency,
    eventId,
  };
};

/** Charges and refunds in one currency. `net` is negative if more was refunded than charged. */
export const toOperatorTotal = ({ currency, charged, refunded }: PaymentTotal) => ({
  currency,
  charged: toAmount(charged),
  refunded: toAmount(refunded),
  net: (charged - refunded) / 100,
});
