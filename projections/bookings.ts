import { type BookingDay, isOnDay } from '../src/domain/booking-days.ts';
import type { BookingTerms, CancelledBy, MovedBy } from '../src/domain/booking-events.ts';
import { defined } from '../src/domain/defined.ts';
import type {
  BookingApproved,
  BookingEvent,
  BookingMoveAsked,
  BookingMoved,
  BookingRequested,
  HoursLeft,
} from '../src/domain/events.ts';
import type { Cents, Timestamp } from '../src/domain/ids.ts';
import type { Opened, PersonalText } from '../src/domain/personal-text.ts';
import { picked } from '../src/domain/picked.ts';
import { type BookingStatus, OF_MOVE } from '../src/domain/space-day.ts';
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
  /** Marks the bookings of a series, for the index that holds only them. */
  readonly isOfSeries?: 'yes';
  /** What the brand was charged at approval. */
  readonly charge?: Cents;
  readonly refund?: Cents;
  readonly cancelledBy?: CancelledBy;
  readonly reason?: PersonalText;
  /** A move that waits for an answer. */
  readonly move?: WaitingMove;
  /** The party that has to answer it, for the lists of what waits. */
  readonly moveWaitsFor?: MovedBy;
  /** Moves that both parties agree to and that are not carried out on both days yet. */
  readonly agreedMoves?: readonly AgreedMove[];
  /** When the first of them was agreed to. */
  readonly movesSince?: Timestamp;
  /** Marks the bookings that have some, for the index that holds only them. */
  readonly isMoving?: 'yes';
  /** The spaces and dates that it has left: their streams hold events of it, too. */
  readonly formerDays?: readonly BookingDay[];
};

type WaitingMove = Pick<BookingMoveAsked['data'], (typeof OF_MOVE)[number]> & { readonly askedAt: Timestamp };

/** An agreed move, and the day that the booking leaves. */
type AgreedMove = BookingDay & Pick<BookingMoveAsked['data'], 'moveId'>;

type PendingBooking = RequestedBooking & Pick<BookingDocument, 'isOfSeries'>;

/** A booking as its parties read it. */
export type ReadableBooking = Opened<BookingDocument>;

/** A booking at the moment it was requested. */
export function pendingBooking(data: BookingRequested['data'], at: Timestamp): PendingBooking {
  const booking = { ...withoutKey(data), status: 'Pending', createdAt: at, changedAt: at } as const;
  return data.series === undefined ? booking : { ...booking, isOfSeries: 'yes' };
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

function withoutMove(document: BookingDocument): BookingDocument {
  if (document.move === undefined) return document;
  const { move: _, moveWaitsFor: __, ...others } = document;
  return others;
}

function withAgreed(document: BookingDocument, moves: readonly AgreedMove[], since: Timestamp): BookingDocument {
  const { agreedMoves: _, movesSince = since, isMoving: __, ...others } = document;
  return moves.length === 0 ? others : { ...others, agreedMoves: moves, movesSince, isMoving: 'yes' };
}

function withoutAgreed(document: BookingDocument, moveId: AgreedMove['moveId']): BookingDocument {
  const { agreedMoves = [], movesSince, ...others } = document;
  const left = agreedMoves.filter((each) => each.moveId !== moveId);
  return movesSince === undefined
    ? document
    : withAgreed({ ...others, ...(left.length > 0 && { movesSince }) }, left, movesSince);
}

/** A booking in its new space and at its new time, with what its brand wrote at the request. */
function movedBooking(document: BookingDocument, data: BookingMoved['data'], at: Timestamp): BookingDocument {
  const { moveId, movedBy: _, from, ...terms } = data;
  const { usageHours: __, cancelHours: ___, formerDays = [], ...kept } = withoutMove(document);
  const isSameDay = isOnDay(from, data);
  // A booking that comes back has its hours there from now on, so that nothing is left to free.
  const agreedMoves = (kept.agreedMoves ?? []).filter((each) => each.moveId === moveId || !isOnDay(each, data));
  const days =
    isSameDay || formerDays.some((day) => isOnDay(day, from))
      ? formerDays
      : [...formerDays, picked(from, ['spaceId', 'date'])];
  const moved = { ...kept, ...terms, changedAt: at, ...(days.length > 0 && { formerDays: days }) };
  return kept.movesSince === undefined ? moved : withAgreed(moved, agreedMoves, kept.movesSince);
}

/** Every booking in its current state. */
export const bookings = projection<BookingDocument, BookingEvent | HoursLeft>({
  name: 'bookings',
  version: 9,
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
    // The days of a series.
    {
      fields: ['communityId', 'brandId', 'series', 'date', 'startHour', 'bookingId'],
      where: { isOfSeries: 'yes' },
    },
    // Moves to answer, in the order of lists, and those to carry out.
    { fields: ['communityId', 'date', 'startHour', 'bookingId'], where: { moveWaitsFor: 'Community' } },
    { fields: ['brandId', 'date', 'startHour', 'bookingId'], where: { moveWaitsFor: 'Brand' } },
    { fields: ['movesSince'], where: { isMoving: 'yes' } },
  ],
  key: (event) => String(event.data.bookingId),
  createdBy: ['BookingRequested'],
  on: {
    BookingRequested: (_, { data, metadata }) => pendingBooking(data, metadata.at),
    BookingApproved: (document, { data, metadata }) => document && approvedBooking(document, data, metadata.at),
    BookingCancelled: (document, { data, metadata }) =>
      document && {
        ...withoutMove(document),
        status: 'Cancelled',
        changedAt: metadata.at,
        ...defined({ refund: data.refund, cancelledBy: data.cancelledBy, reason: data.reason }),
      },
    BookingCompleted: (document, { metadata }) =>
      document && { ...withoutMove(document), status: 'Completed', changedAt: metadata.at },
    BookingMoveAsked: (document, { data, metadata }) =>
      document && {
        ...document,
        move: { ...picked(data, OF_MOVE), askedAt: metadata.at },
        moveWaitsFor: data.askedBy === 'Brand' ? 'Community' : 'Brand',
      },
    BookingMoveAgreed: (document, { data: { moveId, spaceId, date }, metadata }) =>
      document &&
      withAgreed(withoutMove(document), [...(document.agreedMoves ?? []), { moveId, spaceId, date }], metadata.at),
    BookingMoveEnded: (document, { data }) => document && withoutAgreed(withoutMove(document), data.moveId),
    BookingMoved: (document, { data, metadata }) => document && movedBooking(document, data, metadata.at),
    HoursLeft: (document, { data }) => document && withoutAgreed(document, data.moveId),
  },
});
