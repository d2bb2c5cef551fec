import type { BookingEvent, BookingFacts, BookingRequested, CancelledBy } from '../src/domain/events.ts';
import type { Cents, Timestamp } from '../src/domain/ids.ts';
import { type BookingStatus, factsOf } from '../src/domain/space-day.ts';
import { projection } from './projection.ts';

export type BookingDocument = BookingFacts & {
  readonly status: BookingStatus;
  readonly eventFee: Cents;
  readonly serviceFee: Cents;
  readonly serviceFeePercent: number;
  readonly timeZone: string;
  readonly freeFrom: number;
  readonly startsAt: Timestamp;
  readonly endsAt: Timestamp;
  readonly expiresAt: Timestamp;
  readonly message?: string;
  readonly createdAt: Timestamp;
  /** When the state last changed. */
  readonly changedAt: Timestamp;
  /** What the brand was charged at approval. */
  readonly charge?: Cents;
  readonly refund?: Cents;
  readonly cancelledBy?: CancelledBy;
  readonly reason?: string;
};

/** A booking as it stands the moment it was requested. */
export const pendingBooking = (data: BookingRequested['data'], at: Timestamp): BookingDocument => ({
  ...factsOf(data),
  status: 'Pending',
  eventFee: data.eventFee,
  serviceFee: data.serviceFee,
  serviceFeePercent: data.serviceFeePercent,
  timeZone: data.timeZone,
  freeFrom: data.freeFrom,
  startsAt: data.startsAt,
  endsAt: data.endsAt,
  expiresAt: data.expiresAt,
  ...(data.message === undefined ? {} : { message: data.message }),
  createdAt: at,
  changedAt: at,
});

/** Every booking in its present state. */
export const bookings = projection<BookingDocument, BookingEvent>({
  name: 'bookings',
  version: 1,
  indexes: [
    { fields: ['communityId', 'date', 'bookingId'] },
    { fields: ['brandId', 'date', 'bookingId'] },
    { fields: ['spaceId', 'date', 'bookingId'] },
    { fields: ['brandId', 'communityId', 'status', 'date'] },
    { fields: ['communityId', 'status', 'date', 'bookingId'] },
    { fields: ['status', 'expiresAt'] },
    { fields: ['status', 'endsAt'] },
  ],
  key: (event) => String(event.data.bookingId),
  on: {
    BookingRequested: (_, { data, metadata }) => pendingBooking(data, metadata.at),
    BookingApproved: (document, { data, metadata }) =>
      document && { ...document, status: 'Approved', changedAt: metadata.at, charge: data.charge },
    BookingCancelled: (document, { data, metadata }) =>
      document && {
        ...document,
        status: 'Cancelled',
        changedAt: metadata.at,
        refund: data.refund,
        cancelledBy: data.cancelledBy,
        ...(data.reason === undefined ? {} : { reason: data.reason }),
      },
    BookingCompleted: (document, { metadata }) =>
      document && { ...document, status: 'Completed', changedAt: metadata.at },
  },
});
