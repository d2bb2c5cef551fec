import { defined } from '../src/domain/defined.ts';
import type { BookingEvent, BookingRequested, CancelledBy } from '../src/domain/events.ts';
import type { Cents, Timestamp } from '../src/domain/ids.ts';
import type { Opened, PersonalText } from '../src/domain/personal-text.ts';
import type { BookingStatus } from '../src/domain/space-day.ts';
import { projection } from './projection.ts';

/** A booking request and what became of it. */
export type BookingDocument = Omit<BookingRequested['data'], 'idempotencyKey' | 'fingerprint'> & {
  readonly status: BookingStatus;
  readonly createdAt: Timestamp;
  /** When the state last changed. */
  readonly changedAt: Timestamp;
  /** What the brand was charged at approval. */
  readonly charge?: Cents;
  readonly refund?: Cents;
  readonly cancelledBy?: CancelledBy;
  readonly reason?: PersonalText;
};

/** A booking as its parties read it. */
export type ReadableBooking = Opened<BookingDocument>;

/** A booking at the moment it was requested. */
export function pendingBooking(data: BookingRequested['data'], at: Timestamp): Omit<BookingDocument, 'reason'> {
  return { ...withoutKey(data), status: 'Pending', createdAt: at, changedAt: at };
}

/**
 * Most requests have no key and are returned as they are: leaving fields out takes eight times as long as copying all, and objects made
 * that way are slower to use.
 */
function withoutKey(data: BookingRequested['data']): Omit<BookingRequested['data'], 'idempotencyKey' | 'fingerprint'> {
  if (data.idempotencyKey === undefined) return data;
  const { idempotencyKey: _, fingerprint: __, ...requested } = data;
  return requested;
}

/** Every booking in its current state. */
export const bookings = projection<BookingDocument, BookingEvent>({
  name: 'bookings',
  version: 4,
  indexes: [
    // Each ends with the order of lists (docs/decisions/bookings.md).
    { fields: ['communityId', 'date', 'startHour', 'bookingId'] },
    { fields: ['brandId', 'date', 'startHour', 'bookingId'] },
    { fields: ['spaceId', 'date', 'startHour', 'bookingId'] },
    { fields: ['brandId', 'communityId', 'status', 'date', 'startHour', 'bookingId'] },
    { fields: ['communityId', 'status', 'date', 'startHour', 'bookingId'] },
    // Who cancelled: a brand's record.
    { fields: ['brandId', 'communityId', 'cancelledBy'], where: { status: 'Cancelled' } },
    // Only what is still due: most bookings are not, and leave these indexes.
    { fields: ['expiresAt'], where: { status: 'Pending' } },
    { fields: ['endsAt'], where: { status: 'Approved' } },
  ],
  key: (event) => String(event.data.bookingId),
  createdBy: ['BookingRequested'],
  on: {
    BookingRequested: (_, { data, metadata }) => pendingBooking(data, metadata.at),
    BookingApproved: (document, { data, metadata }) =>
      document && { ...document, status: 'Approved', changedAt: metadata.at, charge: data.charge },
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
