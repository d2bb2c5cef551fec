import type { BookingFacts } from '../domain/events.ts';
import type { BookingId, CommunityId, SpaceId } from '../domain/ids.ts';
import type { Payment, PaymentTotal } from '../domain/payment.ts';
import { toAmount } from '../domain/pricing.ts';
import { OperatorBrand } from './account.ts';
import { Hour, Id, OneOf, PlainDate, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

const currency = Type.String({ description: 'ISO 4217.' });

const OperatorPayment = Type.Object({
  kind: OneOf<Payment['kind']>(['charge', 'refund']),
  at: Timestamp('When the booking was approved or cancelled, UTC.'),
  localTime: Type.String({ description: 'The same by the clocks of the community, which say the month.' }),
  timeZone: Type.String({ description: 'IANA time zone of the community.' }),
  bookingId: Id<BookingId>('The booking.'),
  communityId: Id<CommunityId>('The community that owns the space.'),
  communityName: Type.String(),
  spaceId: Id<SpaceId>('The booked space.'),
  spaceName: Type.String(),
  date: PlainDate('Date of the event.'),
  startHour: Hour('Start of the event, 24-hour clock.'),
  endHour: Hour('End of the event.'),
  amount: Type.Number({ minimum: 0, description: 'What was charged or given back.' }),
  currency,
  eventId: Type.String({ description: 'The event of the log that says so.' }),
});

const Total = Type.Object({
  currency,
  charged: Type.Number({ minimum: 0 }),
  refunded: Type.Number({ minimum: 0 }),
  net: Type.Number({ description: 'What was charged less what was refunded. Negative if more was given back.' }),
});

/** What a brand was charged in a month. */
export const OperatorCharges = Type.Object({
  brand: OperatorBrand,
  month: Type.String({ description: 'YYYY-MM.' }),
  isOver: Type.Boolean({ description: 'Whether the month has ended everywhere, so that nothing is added.' }),
  payments: Type.Array(OperatorPayment, { description: 'In the order of the log.' }),
  totals: Type.Array(Total, { description: 'One for each currency.' }),
});

const payment = shaped(OperatorPayment);
export const toOperatorPayment = ({
  booking,
  community,
  amount,
  ...listed
}: Payment & {
  readonly booking: BookingFacts;
  readonly localTime: string;
  readonly community: { readonly name: string; readonly timeZone: string };
}): Static<typeof OperatorPayment> =>
  payment({
    ...booking,
    ...listed,
    amount: toAmount(amount),
    timeZone: community.timeZone,
    communityName: community.name,
  });

const total = shaped(Total);
export const toOperatorTotal = ({ charged, refunded, ...of }: PaymentTotal): Static<typeof Total> =>
  total({ ...of, charged: toAmount(charged), refunded: toAmount(refunded), net: (charged - refunded) / 100 });
