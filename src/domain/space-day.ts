import { refuseApproval, type Standing } from './admission.ts';
import { AppendOnlyMap } from './append-only-map.ts';
import { type BookingDetails, REPEATED_DETAILS } from './booking-details.ts';
import type { BookingFacts, CancelledBy } from './booking-events.ts';
import { cancellableUntil, endOf, expiryOf, startOf } from './booking-moments.ts';
import { toTimestamp } from './calendar.ts';
import { type Decision, type Refusal, refuse, refuseField } from './decision.ts';
import { defined } from './defined.ts';
import type {
  BookingApproved,
  BookingCancelled,
  BookingCompleted,
  BookingEvent,
  BookingMoveAgreed,
  BookingMoveAsked,
  BookingMoveEnded,
  BookingRequested,
  SpaceDayEvent,
  TimeClosed,
} from './events.ts';
import {
  type BookingId,
  type BrandId,
  type Cents,
  type ClosureId,
  type CommunityId,
  cents,
  type MoveId,
} from './ids.ts';
import { keysOf } from './keys-of.ts';
import { EVENT_FEE, REASON, wrongNumber, wrongText } from './limits.ts';
import { picked } from './picked.ts';
import { priceOf } from './pricing.ts';

/** docs/guides/rest-api.md#bookings */
export type BookingStatus = 'Pending' | 'Approved' | 'Cancelled' | 'Completed';
export const BOOKING_STATUSES: readonly BookingStatus[] = ['Pending', 'Approved', 'Cancelled', 'Completed'];

/** What a move is, in its events. */
export const OF_MOVE = ['moveId', 'askedBy', 'to', 'newPrice'] as const;

export type BookingState = {
  readonly request: BookingRequested['data'];
  readonly status: BookingStatus;
  /** Revision of the request, or of its arrival from another day, in the stream of the day. */
  readonly revision: number;
  /** A move that waits for an answer, or has been agreed to. */
  readonly move?: OpenMove;
};

export type OpenMove = Pick<BookingMoveAgreed['data'], (typeof OF_MOVE)[number]> & {
  /** From then on, nothing else happens to the booking here until it has left, or the other day has refused it. */
  readonly isAgreed: boolean;
};

/**
 * Everything that happened to one space on one day, folded: the consistency boundary of bookings
 * (docs/decisions/event-log.md).
 */
export type SpaceDay = {
  /** How many events it was folded from. */
  readonly events: number;
  /** All bookings except cancelled ones. Few, because they do not overlap. Time is kept free around one that is over, too. */
  readonly held: ReadonlyMap<BookingId, BookingState>;
  /** Any number: a client can request and cancel the same hour again and again. */
  readonly cancelled: AppendOnlyMap<BookingId, BookingState>;
  /** The booking of each idempotency key as it was requested, by brand. It may have left this day. */
  readonly bookingByKey: AppendOnlyMap<string, BookingState>;
  /** Closed times and own events. */
  readonly closed: ReadonlyMap<ClosureId, TimeClosed['data']>;
  /** Closures that have ended: none of them closes this day again, however late a process is. */
  readonly reopened: AppendOnlyMap<ClosureId, true>;
  /** Moves to this day that were decided here: why the booking could not come, or that it came. */
  readonly arrivals: AppendOnlyMap<MoveId, Arrival>;
};

export type Arrival = 'arrived' | { readonly refusedFor: string };

export const EMPTY_SPACE_DAY: SpaceDay = {
  events: 0,
  held: new Map(),
  cancelled: AppendOnlyMap.empty(),
  bookingByKey: AppendOnlyMap.empty(),
  closed: new Map(),
  reopened: AppendOnlyMap.empty(),
  arrivals: AppendOnlyMap.empty(),
};

export const findBooking = ({ held, cancelled }: SpaceDay, id: BookingId): BookingState | undefined =>
  held.get(id) ?? cancelled.get(id);

export const brandKey = (brand: BrandId, idempotencyKey: string) => `${brand}:${idempotencyKey}`;

export function evolveSpaceDay(before: SpaceDay, event: SpaceDayEvent): SpaceDay {
  const day = { ...before, events: before.events + 1 };
  switch (event.type) {
    case 'TimeClosed':
      return { ...day, closed: new Map(day.closed).set(event.data.closureId, event.data) };
    case 'TimeReopened': {
      const closed = new Map(day.closed);
      closed.delete(event.data.closureId);
      return { ...day, closed, reopened: day.reopened.with(event.data.closureId, true) };
    }
    case 'BookingRequested': {
      const { bookingId, brandId, idempotencyKey: key } = event.data;
      const state: BookingState = { request: event.data, status: 'Pending', revision: before.events };
      const held = new Map(day.held).set(bookingId, state);
      const bookingByKey = key === undefined ? day.bookingByKey : day.bookingByKey.with(brandKey(brandId, key), state);
      return { ...day, held, bookingByKey };
    }
    case 'BookingMoved': {
      const { moveId, movedBy: _, from: __, status, ...request } = event.data;
      const held = new Map(day.held).set(request.bookingId, { request, status, revision: before.events });
      return { ...day, held, arrivals: day.arrivals.with(moveId, 'arrived') };
    }
    case 'HoursRefused':
      return { ...day, arrivals: day.arrivals.with(event.data.moveId, { refusedFor: event.data.reason }) };
    case 'HoursLeft': {
      const held = new Map(day.held);
      held.delete(event.data.bookingId);
      return { ...day, held };
    }
    case 'BookingMoveAsked':
    case 'BookingMoveAgreed':
    case 'BookingMoveEnded':
      return afterMoveStep(day, event);
    default:
      return afterAnswer(day, event);
  }
}

/** The day after a move of a booking was asked for, agreed to or ended. */
function afterMoveStep(
  day: SpaceDay,
  { type, data }: BookingMoveAsked | BookingMoveAgreed | BookingMoveEnded,
): SpaceDay {
  const booking = day.held.get(data.bookingId);
  if (booking === undefined) return day;
  const { move: _, ...unmoved } = booking;
  const after =
    type === 'BookingMoveEnded'
      ? unmoved
      : { ...unmoved, move: { ...picked(data, OF_MOVE), isAgreed: type === 'BookingMoveAgreed' } };
  return { ...day, held: new Map(day.held).set(data.bookingId, after) };
}

/** The day after a booking was approved, cancelled or completed. */
function afterAnswer(day: SpaceDay, event: BookingApproved | BookingCancelled | BookingCompleted): SpaceDay {
  const { bookingId } = event.data;
  const booking = day.held.get(bookingId);
  if (booking === undefined) return day;
  const after = { ...booking, status: statusAfter(event), request: withLowered(booking.request, event) };
  const held = new Map(day.held);
  if (after.status !== 'Cancelled') return { ...day, held: held.set(bookingId, after) };
  held.delete(bookingId);
  return { ...day, held, cancelled: day.cancelled.with(bookingId, after) };
}

/** A request with the price at which it was approved, if that is lower. */
function withLowered(request: BookingRequested['data'], event: BookingEvent): BookingRequested['data'] {
  if (event.type !== 'BookingApproved' || event.data.lowered === undefined) return request;
  return { ...request, ...event.data.lowered, totalPrice: event.data.totalPrice };
}

/** Whether a booking may still be cancelled or moved. */
export const isOpen = ({ status }: Pick<BookingState, 'status'>): boolean =>
  status === 'Pending' || status === 'Approved';

/** An event, as far as the state after it depends on it. */
export type Leading =
  | { readonly type: Exclude<BookingEvent['type'], 'BookingMoved'> }
  | { readonly type: 'BookingMoved'; readonly data: { readonly status: BookingStatus } };

/** The state that an event leaves a booking in. @param before the state before it. Default: Pending */
export function statusAfter(event: Leading, before: BookingStatus = 'Pending'): BookingStatus {
  switch (event.type) {
    case 'BookingRequested':
      return 'Pending';
    case 'BookingApproved':
      return 'Approved';
    case 'BookingCancelled':
      return 'Cancelled';
    case 'BookingCompleted':
      return 'Completed';
    case 'BookingMoved':
      return event.data.status;
    case 'BookingMoveAsked':
    case 'BookingMoveAgreed':
    case 'BookingMoveEnded':
      return before;
    default:
      return event satisfies never;
  }
}

export const heldHours = ({ held, closed }: SpaceDay) => ({
  taken: [...held.values()].map(({ request }) => request),
  closed: [...closed.values()],
});

/**
 * Decides an approval by the community. The price fixed at the request is charged now. From the moment at which the request expires,
 * refuses `BookingNotAllowed`, whether or not the cancellation is in the log yet: the brand may rely on that moment
 * (docs/decisions/bookings.md). The same while the brand has to be let in first.
 */
export function approveBooking(
  day: SpaceDay,
  command: {
    readonly bookingId: BookingId;
    readonly communityId: CommunityId;
    /** How the brand stands with the community. Default: let in. */
    readonly standing?: Standing;
    /** A lower fee than at the request. */
    readonly eventFee?: Cents;
  },
  context: { readonly now: number },
): Decision<BookingApproved> {
  const booking = findBooking(day, command.bookingId);
  if (booking === undefined || booking.request.communityId !== command.communityId)
    return unknownBooking(command.bookingId);
  if (booking.status !== 'Pending') return wrongStatus(booking, 'approved');
  if (hasStarted(booking, context.now)) return started(booking, 'approved');
  const expiry = expiryOf(booking.request);
  if (expiry <= context.now)
    return refuse(
      'BookingNotAllowed',
      `Booking ${command.bookingId} was to be answered by ${toTimestamp(expiry)} and cannot be approved any more.`,
    );
  return (
    refuseApproval(command.standing ?? 'letIn') ??
    approvalAt(booking.request, command.eventFee ?? booking.request.eventFee)
  );
}

/** The approval of a request for a fee: never a higher one than the brand has seen. */
function approvalAt(request: BookingRequested['data'], eventFee: Cents): Decision<BookingApproved> {
  const facts = factsOf(request);
  if (eventFee === request.eventFee)
    return [{ type: 'BookingApproved', data: { ...facts, charge: request.totalPrice } }];
  const wrong = wrongNumber('eventFee', eventFee, { ...EVENT_FEE, max: request.eventFee });
  if (wrong !== undefined) return refuseField('eventFee', 'must not be more than at the request');
  const { totalPrice, serviceFee } = priceOf(eventFee, request.serviceFeePercent);
  const lowered = { eventFee, serviceFee };
  return [{ type: 'BookingApproved', data: { ...facts, totalPrice, charge: totalPrice, lowered } }];
}

/** A cancellation by one of the parties. */
export type CancelBooking = {
  readonly bookingId: BookingId;
  readonly by:
    | { readonly kind: 'Brand'; readonly id: BrandId }
    | { readonly kind: 'Community'; readonly id: CommunityId };
  readonly reason?: string;
  /** The status on which the decision was based: refused if it has changed. Absent: any status. */
  readonly expected?: 'Pending' | 'Approved';
};

/**
 * Decides a cancellation. Until the event starts, a brand may cancel its own Pending or Approved bookings and a community
 * those of its spaces; a brand only until the deadline of the booking. What was charged is refunded (docs/decisions/bookings.md).
 */
export function cancelBooking(
  day: SpaceDay,
  command: CancelBooking,
  context: { readonly now: number },
): Decision<BookingCancelled> {
  const booking = findBooking(day, command.bookingId);
  if (booking === undefined) return unknownBooking(command.bookingId);
  const owner = command.by.kind === 'Brand' ? booking.request.brandId : booking.request.communityId;
  if (owner !== command.by.id) return unknownBooking(command.bookingId);
  const wrongReason = wrongText('reason', command.reason, REASON);
  if (wrongReason !== undefined) return wrongReason;
  if (!isOpen(booking)) return wrongStatus(booking, 'cancelled');
  if (command.expected !== undefined && booking.status !== command.expected)
    return refuse(
      'BookingNotAllowed',
      `Booking ${command.bookingId} is ${booking.status}, no longer ${command.expected}.`,
    );
  if (hasStarted(booking, context.now)) return started(booking, 'cancelled');
  const deadline = cancellableUntil(booking.request);
  if (command.by.kind === 'Brand' && deadline <= context.now)
    return refuse(
      'BookingNotAllowed',
      `Booking ${command.bookingId} could be cancelled by the brand until ${toTimestamp(deadline)}. The community still can.`,
    );
  return [cancelled(booking, command.by.kind, command.reason)];
}

/** Cancels a request that was not answered in time (docs/decisions/bookings.md). No event if it is not due. */
export function expireBooking(
  day: SpaceDay,
  command: { readonly bookingId: BookingId },
  context: { readonly now: number },
): Decision<BookingCancelled> {
  const booking = findBooking(day, command.bookingId);
  if (booking?.status !== 'Pending' || expiryOf(booking.request) > context.now) return [];
  return [cancelled(booking, 'System', 'The community did not answer in time.')];
}

/** Completes an approved booking whose end has passed (docs/decisions/bookings.md). No event if it is not due. */
export function completeBooking(
  day: SpaceDay,
  command: { readonly bookingId: BookingId },
  context: { readonly now: number },
): Decision<BookingCompleted> {
  const booking = findBooking(day, command.bookingId);
  if (booking?.status !== 'Approved' || endOf(booking.request) > context.now) return [];
  return [{ type: 'BookingCompleted', data: factsOf(booking.request) }];
}

/** The facts besides the details. Exhaustive: a new one does not compile without its line. */
const OTHER_FACTS = {
  bookingId: true,
  spaceName: true,
  communityId: true,
  brandId: true,
  brandName: true,
  endHour: true,
  durationHours: true,
  usageHours: true,
  totalPrice: true,
  currency: true,
} as const satisfies { readonly [F in keyof Required<Omit<BookingFacts, keyof BookingDetails>>]: true };

const FACTS: readonly (keyof BookingFacts)[] = [...REPEATED_DETAILS, ...keysOf(OTHER_FACTS)];

/** What every booking event repeats from the request. */
export const factsOf = (request: BookingFacts): BookingFacts => picked(request, FACTS);

function cancelled(booking: BookingState, cancelledBy: CancelledBy, reason: string | undefined): BookingCancelled {
  const refund = booking.status === 'Approved' ? booking.request.totalPrice : cents(0);
  return { type: 'BookingCancelled', data: defined({ ...factsOf(booking.request), cancelledBy, reason, refund }) };
}

export const hasStarted = (booking: BookingState, now: number) => startOf(booking.request) <= now;

export const unknownBooking = (id: BookingId): Refusal => refuse('ResourceNotFound', `There is no booking ${id}.`);

export const wrongStatus = (booking: BookingState, verb: string): Refusal =>
  refuse('BookingNotAllowed', `Booking ${booking.request.bookingId} is ${booking.status} and cannot be ${verb}.`);

export const started = (booking: BookingState, verb: string): Refusal =>
  refuse('BookingNotAllowed', `Booking ${booking.request.bookingId} has already started and cannot be ${verb}.`);
