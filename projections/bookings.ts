import { defined } from '../src/domain/defined.ts';
import type {
  BookingApproved,
  BookingEvent,
  BookingRequested,
  BookingTerms,
  CancelledBy,
} from '../src/domain/events.ts';
import type { Cents, Timestamp } from '../src/domain/ids.ts';
import type { Opened, PersonalText } from '../src/domain/personal-text.ts';
import type { BookingStatus } from '../src/domain/space-day.ts';
import { projection } from './projection.ts';

type RequestedBooking = BookingTerms & {
  readonly status: BookingStatus;
  readonly createdAt: Timestamp;
  /** When the state last changed. */
  readonly changedAt: Timestamp;
};

/** A booking request and what became of it. */
export type BookingDocument = RequestedBooking & {
  readonly approvedAt?: Timestamp;
  /** Marks the bookings that were approved, for the indexes that hold only them. */
  readonly wasApproved?: 'yes';
  /** What the brand was charged at approval. */
  readonly charge?: Cents;
  readonly refund?: Cents;
  readonly cancelledBy?: CancelledBy;
  readonly reason?: PersonalText;
};

/** A booking as its parties read it. */
export type ReadableBooking = Opened<BookingDocument>;

/** A booking at the moment it was requested. */
export function pendingBooking(data: BookingRequested['data'], at: Timestamp): RequestedBooking {
  return { ...withoutKey(data), status: 'Pending', createdAt: at, changedAt: at };
}

/** A booking at the moment it was approved. */
export const approvedBooking = (
  booking: RequestedBooking,
  { charge, lowered }: Pick<BookingApproved['data'], 'charge' | 'lowered'>,
  at: Timestamp,
): BookingDocument => ({
  ...booking,
  ...(lowered && { ...lowered, totalPrice: charge }),
  status: 'Approved',
  changedAt: at,
  approvedAt: at,
  wasApproved: 'yes',
  charge,
});

/**
 * Most requests have no key and are returned as they are: leaving fields out takes eight times as long as copying all, and objects made
 * that way are slower to use.
 */
function withoutKey(data: BookingRequested['data']): BookingTerms {
  if (data.idempotencyKey === undefined) return data;
  const { idempotencyKey: _, fingerprint: __, ...requested } = data;
  return requested;
}

/** Every booking in its current state. */
export const bookings = projection<BookingDocument, BookingEvent>({
  name: 'bookings',
  version: 6,
  indexes: [
    // In the order of lists (docs/decisions/bookings.md). They hold what lists are filtered by.
    { fields: ['communityId', 'date', 'startHour', 'bookingId'], holds: ['spaceId', 'brandId'] },
    { fields: ['brandId', 'date', 'startHour', 'bookingId'], holds: ['spaceId', 'communityId'] },
    {
      fields: ['brandId', 'status', 'date', 'startHour', 'bookingId'],
      holds: ['spaceId', 'communityId', 'cancelledBy', 'charge'],
    },
    { fields: ['brandId', 'communityId', 'status', 'date', 'startHour', 'bookingId'] },
    {
      fields: ['communityId', 'status', 'date', 'startHour', 'bookingId'],
      holds: ['spaceId', 'brandId', 'cancelledBy', 'charge', 'totalPrice', 'createdAt'],
    },
    // Who cancelled: a brand's record.
    { fields: ['brandId', 'communityId', 'cancelledBy'], where: { status: 'Cancelled' } },
    // Only what is still due: most bookings are not, and leave these indexes.
    { fields: ['expiresAt'], where: { status: 'Pending' } },
    { fields: ['endsAt'], where: { status: 'Approved' } },
    // The inbox, by deadline.
    {
      fields: ['communityId', 'expiresAt', 'bookingId'],
      holds: ['spaceId', 'date', 'totalPrice', 'createdAt'],
      where: { status: 'Pending' },
    },
    // Charges and refunds in the order in which they were made.
    { fields: ['communityId', 'approvedAt', 'bookingId'], holds: ['timeZone'], where: { wasApproved: 'yes' } },
    { fields: ['brandId', 'approvedAt', 'bookingId'], holds: ['timeZone'], where: { wasApproved: 'yes' } },
    {
      fields: ['communityId', 'changedAt', 'bookingId'],
      holds: ['timeZone', 'refund'],
      where: { status: 'Cancelled' },
    },
    { fields: ['brandId', 'changedAt', 'bookingId'], holds: ['timeZone', 'refund'], where: { status: 'Cancelled' } },
  ],
  key: (event) => String(event.data.bookingId),
  createdBy: ['BookingRequested'],
  on: {
    BookingRequested: (_, { data, metadata }) => pendingBooking(data, metadata.at),
    BookingApproved: (document, { data, metadata }) => document && approvedBooking(document, data, metadata.at),
    BookingCancelled: (document, { data, metadata }) =>
      document && {
        ...document,
        status: 'Cancelled',
        changedAt: metadata.at,
        ...defined({ refund: data.refund, cancelledBy: data.cancelledBy, reason: data.reason }),
      },
    BookingCompleted: (document, { metadata }) =>
      document && { ...document, status: 'Completed', changedAt: metadata.at },
  },
});
