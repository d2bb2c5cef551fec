import type { Static } from 'typebox';
import type { BookingDocument, ReadableBooking } from '../../projections/bookings.ts';
import type { AccountKind } from '../domain/account.ts';
import {
  BOOKING_DETAILS,
  type BookingDetails,
  detailsOf,
  NOT_REPEATED,
  type NotRepeatedField,
  PERSONAL_DETAILS,
  PLAIN_DETAILS,
  REPEATED_DETAILS,
} from '../domain/booking-details.ts';
import type { BookingFacts } from '../domain/booking-events.ts';
import { cancellableUntil, expiryOf } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { hoursBetween } from '../domain/hours.ts';
import { picked } from '../domain/picked.ts';
import { toAmount } from '../domain/pricing.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import type { AssistantBooking, BookingDto, CreateBooking, MoveBooking } from './schemas/booking.ts';

/** The label of each detail. Exhaustive: a new detail does not compile without its line. */
export const DETAIL_LABELS: { readonly [field: string]: string } = {
  spaceId: 'Space',
  date: 'Date',
  startHour: 'Start',
  guests: 'Guests',
  message: 'Message',
  series: 'Series',
} satisfies { readonly [F in keyof Required<BookingDetails>]: string };

/** The names of the details other than space, date and start, which have a layout of their own. */
export const FURTHER_DETAILS = BOOKING_DETAILS.filter(
  (field) => field !== 'spaceId' && field !== 'date' && field !== 'startHour',
);

/** These details with their labels; absent ones and the series, which pages show as links, are left out. */
export const furtherDetails = (
  details: BookingDetails,
): readonly { readonly field: string; readonly label: string; readonly value: string | number }[] => {
  const { series: _, ...further } = picked(details, FURTHER_DETAILS);
  return Object.entries(further).map(([field, value]) => ({ field, label: DETAIL_LABELS[field] ?? field, value }));
};

/**
 * The only mapping of a booking's facts to public names and units. Amounts are numbers with at most two decimals. Details that only
 * the request holds are left out.
 */
export const publicFacts = (facts: BookingFacts, status: BookingStatus) => {
  const { spaceId, date, startHour, ...further } = picked(facts, REPEATED_DETAILS);
  const { spaceName, endHour } = facts;
  return { spaceId, spaceName, date, startHour, endHour, status, totalPrice: toAmount(facts.totalPrice), ...further };
};

const moveDto = ({ askedBy, askedAt, to, newPrice }: NonNullable<BookingDocument['move']>) => ({
  askedBy,
  askedAt,
  ...to,
  ...defined({ totalPrice: newPrice && toAmount(newPrice.totalPrice) }),
});

/** What REST and MCP show of a booking in the same way: nothing that its brand wrote. */
const ownFacts = (booking: BookingFacts & Pick<BookingDocument, 'status' | 'createdAt' | 'move'>) => {
  const { bookingId: id, status, createdAt, usageHours, move } = booking;
  return {
    id,
    ...publicFacts(booking, status),
    createdAt,
    ...defined({ usageHours, move: move && moveDto(move) }),
  };
};

export const toBookingDto = (
  booking: BookingFacts & Pick<ReadableBooking, 'status' | 'createdAt' | 'move' | NotRepeatedField>,
): BookingDto => {
  const { brandName } = booking;
  return { ...ownFacts(booking), brandName, ...picked(booking, NOT_REPEATED) };
};

/** A booking as the command line prints it with `--json`. */
export const toOperatorBooking = (booking: ReadableBooking) => {
  const { communityId, brandId, cancelledBy, reason, startHour, freeFrom } = booking;
  return {
    ...toBookingDto(booking),
    hours: hoursBetween(startHour, freeFrom),
    communityId,
    brandId,
    ...defined({ cancelledBy, reason }),
  };
};

export const toAssistantBooking = (booking: ReadableBooking, viewer: AccountKind): AssistantBooking => {
  const { brandName, refund } = booking;
  return {
    ...ownFacts(booking),
    ...picked(booking, PLAIN_DETAILS),
    hours: hoursBetween(booking.startHour, booking.freeFrom),
    ...(booking.status === 'Pending' && { answerBy: toTimestamp(expiryOf(booking)) }),
    ...((booking.status === 'Pending' || booking.status === 'Approved') &&
      booking.cancelHours && { cancelUntil: toTimestamp(cancellableUntil(booking)) }),
    ...(refund !== undefined && refund > 0 && { refund: toAmount(refund) }),
    ...(viewer === 'Community' && { writtenByBrand: { brandName, ...picked(booking, PERSONAL_DETAILS) } }),
  };
};

/** Where a booking is to move, and why. */
export const moveOf = ({ startTime: date, reason, price, spaceId, startHour }: Static<typeof MoveBooking>) => ({
  to: defined({ spaceId, date, startHour }),
  ...defined({ reason, price }),
});

/** The details in a booking request. */
export const detailsOfRequest = ({ startTime: date, ...details }: Static<typeof CreateBooking>): BookingDetails =>
  detailsOf({ ...details, date });
