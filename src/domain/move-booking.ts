import type { Account } from './account.ts';
import { refuseApproval, type Standing } from './admission.ts';
import { arePersonal, PERSONAL_DETAILS } from './booking-details.ts';
import type { BookingPrice, CancelledBy, MovePlace } from './booking-events.ts';
import { expiryOf } from './booking-moments.ts';
import { toTimestamp, wallDay } from './calendar.ts';
import { closedRefusal } from './closed-refusal.ts';
import type { AgreedPrices } from './customer-details.ts';
import { type Decision, isRefusal, type Refusal, refuse } from './decision.ts';
import { defined } from './defined.ts';
import { moreThanFit } from './description.ts';
import type {
  BookingApproved,
  BookingEvent,
  BookingMoved,
  BookingMoveEnded,
  BookingRequested,
  HoursLeft,
  HoursRefused,
} from './events.ts';
import { feeOn } from './fee-on.ts';
import type { BookingId, Cents, MoveId, PlainDate, SpaceId } from './ids.ts';
import { HOUR, REASON, wrongNumber, wrongText } from './limits.ts';
import { picked } from './picked.ts';
import { priceOf } from './pricing.ts';
import type { Space } from './space.ts';
import {
  type Arrival,
  type BookingState,
  factsOf,
  findBooking,
  hasStarted,
  isOpen,
  OF_MOVE,
  type OpenMove,
  type SpaceDay,
  started,
  unknownBooking,
  wrongStatus,
} from './space-day.ts';
import { timesIn, whyClosed } from './time-slots.ts';

/** Where a booking is to move. What is absent stays as it is. */
export type MoveTo = { readonly spaceId?: SpaceId; readonly date?: PlainDate; readonly startHour?: number };

/** Where a booking is to move, as both parties see it now. */
export type MoveTarget = {
  readonly space: Space;
  readonly date: PlainDate;
  readonly startHour: number;
  /** The day of the target, if that is another one, or of another space. */
  readonly elsewhere?: SpaceDay;
};

type ByParty = {
  readonly bookingId: BookingId;
  readonly by: Account;
  /** How the brand stands with the community. Default: let in. */
  readonly standing?: Standing;
  readonly reason?: string;
};

/** A move that a party asks for. */
export type MoveBooking = ByParty & {
  readonly moveId: MoveId;
  readonly to: MoveTarget;
  /** Whether the community looks after the brand, which then need not be asked. */
  readonly isKept?: boolean;
  /** Whether a request keeps the price that was agreed (the default), or costs what its target costs. */
  readonly price?: MovePrice;
  /** What was agreed with the brand. */
  readonly agreed?: AgreedPrices;
  /** The fee of the target that the party has seen: refused if it is another by now. */
  readonly seenFee?: Cents;
};

export type MovePrice = (typeof MOVE_PRICES)[number];
export const MOVE_PRICES = ['agreed', 'new'] as const;

/** An answer to a move that the other party asked for, or the end of an own one. */
export type AnswerMove = ByParty & {
  /** The move that the answer is about: refused if another one waits by now. Absent: the one that waits. */
  readonly moveId?: MoveId;
  /** With the target, if the move is accepted. */
  readonly accepts?: MoveTarget;
};

type At = { readonly now: number };

const SAME_PLACE = refuse('BookingNotAllowed', 'The booking is in this space at this time already.', {
  reason: 'SamePlace',
});

const CHARGED = refuse(
  'BookingNotAllowed',
  'The booking was approved and charged, so its price stays. Move it for the agreed price.',
);

/** The refusal of an answer to a move that was answered, or replaced by another, meanwhile. */
export const NOT_WAITING = refuse(
  'BookingNotAllowed',
  'This move does not wait for an answer any more. Look at the booking again.',
  { reason: 'NotWaiting' },
);

/**
 * Decides a move that a party asks for. It waits for the other party while the booking keeps its hours, unless the community looks after the
 * brand, or the other party has asked for the same. Refuses hours that are not free as a request would, but a community may waive its own
 * notice. No event if the same party asks for the same again (docs/decisions/moves.md).
 */
export function moveBooking(day: SpaceDay, command: MoveBooking, context: At): Decision<BookingEvent> {
  const { by, to, moveId, reason, isKept = false } = command;
  const isAtOnce = by.kind === 'Community' && isKept;
  const booking = movable(day, command, context);
  if (isRefusal(booking)) return booking;
  const { request, move } = booking;
  const wrong = wrongNumber('startHour', to.startHour, HOUR) ?? wrongText('reason', reason, REASON);
  if (wrong !== undefined) return wrong;
  if (to.space.communityId !== request.communityId)
    return refuse('ResourceNotFound', `The community of the booking has no space ${to.space.spaceId}.`);
  if (isAt(request, to)) return SAME_PLACE;
  const newPrice = priceThere(booking, command);
  if (isRefusal(newPrice)) return newPrice;
  const isSame = move !== undefined && isAt(move.to, to) && move.newPrice?.eventFee === newPrice?.eventFee;
  if (isSame && move.askedBy === by.kind && !isAtOnce) return [];
  if (move !== undefined && !isSame && move.askedBy !== by.kind) return askedByOther(move);

  const closed = whyNotThere(to, request, day, context, { hasNotice: by.kind === 'Brand' });
  if (closed !== undefined) return closed;
  const wanted = defined({ moveId, askedBy: by.kind, to: placeOf(to), newPrice });
  const asked: OpenMove = isSame ? move : { ...wanted, isAgreed: false };
  if (isAtOnce || asked.askedBy !== by.kind) return agreed(booking, asked, to, command, context);
  return [{ type: 'BookingMoveAsked', data: defined({ ...factsOf(request), ...wanted, reason }) }];
}

/** What a request costs at its target, if that is asked for and differs. What was approved was charged, so its price stays. */
function priceThere(
  { request, status }: BookingState,
  { to, price = 'agreed', agreed = {}, seenFee }: MoveBooking,
): BookingPrice | undefined | Refusal {
  if (price === 'agreed') return undefined;
  if (status !== 'Pending') return CHARGED;
  const eventFee = feeOn(to.space, to.date, agreed);
  if (seenFee !== undefined && seenFee !== eventFee)
    return refuse('BookingNotAllowed', 'The price there has changed meanwhile. Look at it again.');
  if (eventFee === request.eventFee) return undefined;
  return picked(priceOf(eventFee, request.serviceFeePercent), ['eventFee', 'serviceFee', 'totalPrice']);
}

/** Decides an answer to a move. The target is decided now: it was not held while the move waited. */
export function answerMove(day: SpaceDay, command: AnswerMove, context: At): Decision<BookingEvent> {
  const { by, reason, accepts } = command;
  const booking = movable(day, command, context);
  if (isRefusal(booking)) return booking;
  const { move, request } = booking;
  const wrong = wrongText('reason', reason, REASON);
  if (wrong !== undefined) return wrong;
  if (move === undefined || (command.moveId ?? move.moveId) !== move.moveId) return NOT_WAITING;
  if (accepts === undefined) return [ended(request, move.moveId, by.kind, reason)];
  if (move.askedBy === by.kind) return refuse('BookingNotAllowed', 'The other party has to agree to the move.');
  if (!isAt(move.to, accepts)) return refuse('BookingNotAllowed', 'The move is to another time by now.');
  return (
    whyNotThere(accepts, request, day, context, { hasNotice: false }) ??
    agreed(booking, move, accepts, command, context)
  );
}

/** The booking of a party that may still be moved. */
function movable(day: SpaceDay, { bookingId, by }: ByParty, { now }: At): BookingState | Refusal {
  const booking = findBooking(day, bookingId);
  if (booking === undefined) return unknownBooking(bookingId);
  const owner = by.kind === 'Brand' ? booking.request.brandId : booking.request.communityId;
  if (owner !== by.id) return unknownBooking(bookingId);
  if (!isOpen(booking)) return wrongStatus(booking, 'moved');
  return hasStarted(booking, now) ? started(booking, 'moved') : booking;
}

/** A move that both parties want: at once on the same day of the same space, otherwise once the other day has taken it. */
function agreed(
  booking: BookingState,
  move: OpenMove,
  to: MoveTarget,
  { standing = 'letIn' }: ByParty,
  { now }: At,
): Decision<BookingEvent> {
  const { request, status } = booking;
  // It was approved while the move waited.
  if (status !== 'Pending' && move.newPrice !== undefined) return CHARGED;
  // Agreeing on other hours answers a request.
  if (status === 'Pending') {
    const refusal = refuseApproval(standing);
    if (refusal !== undefined) return refusal;
    const expiry = expiryOf(request);
    if (expiry <= now)
      return refuse('BookingNotAllowed', `The request was to be answered by ${toTimestamp(expiry)}, so it ends.`);
  }
  if (to.elsewhere === undefined) return moved(booking, move, to.space);
  return [{ type: 'BookingMoveAgreed', data: { ...factsOf(request), ...picked(move, OF_MOVE), to: placeOf(to) } }];
}

/** The booking at its new hours, for the price of the request or of the move. One that was not approved yet is, too. */
function moved({ request, status }: BookingState, move: OpenMove, space: Space): [BookingMoved, ...BookingApproved[]] {
  const { moveId, askedBy: movedBy, to, newPrice } = move;
  const wall = wallDay(to.date, space.timeZone);
  const { usageHours: _, cancelHours: __, idempotencyKey: ___, fingerprint: ____, ...kept } = withoutTexts(request);
  const terms = {
    ...kept,
    ...newPrice,
    spaceId: to.spaceId,
    date: to.date,
    startHour: to.startHour,
    ...timesIn(space, wall, to.startHour),
  };
  const from = placeIn(request);
  const event: BookingMoved = {
    type: 'BookingMoved',
    data: { ...terms, moveId, movedBy, from, status: status === 'Approved' ? 'Approved' : 'Pending' },
  };
  if (status !== 'Pending') return [event];
  return [event, { type: 'BookingApproved', data: { ...factsOf(terms), charge: terms.totalPrice } }];
}

/** What the brand wrote stays in the event of the request. */
function withoutTexts(request: BookingRequested['data']): BookingRequested['data'] {
  if (!arePersonal(request)) return request;
  const copy = { ...request };
  for (const field of PERSONAL_DETAILS) delete copy[field];
  return copy;
}

/**
 * Decides on the day of the target whether a booking comes, once and for good: no event if that was decided before. A day that refuses it
 * keeps refusing it, however late a process is.
 */
export function bringBooking(
  day: SpaceDay,
  { booking, move, space }: { readonly booking: BookingState; readonly move: OpenMove; readonly space: Space },
  context: At,
): Decision<BookingMoved | BookingApproved | HoursRefused> {
  const { moveId, to } = move;
  if (day.arrivals.has(moveId)) return [];
  const { spaceId, date, startHour } = to;
  const { bookingId, communityId } = booking.request;
  const closed = whyNotThere({ space, date, startHour }, booking.request, day, context, { hasNotice: false });
  if (closed === undefined) return moved(booking, move, space);
  return [{ type: 'HoursRefused', data: { spaceId, communityId, date, bookingId, moveId, reason: closed.details } }];
}

/** Frees the hours that a booking has left, or keeps them if the other day has refused it. No event if that was done before. */
export function leaveHours(
  day: SpaceDay,
  { bookingId, moveId, arrival }: { readonly bookingId: BookingId; readonly moveId: MoveId; readonly arrival: Arrival },
): Decision<HoursLeft | BookingMoveEnded> {
  const booking = day.held.get(bookingId);
  if (booking?.move?.isAgreed !== true || booking.move.moveId !== moveId) return [];
  const { request, move } = booking;
  if (arrival !== 'arrived') return [ended(request, moveId, 'System', arrival.refusedFor)];
  const { spaceId, communityId, date } = request;
  return [{ type: 'HoursLeft', data: { spaceId, communityId, date, bookingId, moveId, to: move.to } }];
}

const ended = (
  request: BookingRequested['data'],
  moveId: MoveId,
  endedBy: CancelledBy,
  reason: string | undefined,
): BookingMoveEnded => ({
  type: 'BookingMoveEnded',
  data: defined({ ...factsOf(request), moveId, endedBy, reason }),
});

/** Why a booking cannot be in a space at an hour. Its own hours on that day do not matter: it leaves them. */
function whyNotThere(
  { space, date, startHour, elsewhere }: MoveTarget,
  request: BookingRequested['data'],
  own: SpaceDay,
  { now }: At,
  { hasNotice }: { readonly hasNotice: boolean },
): Refusal | undefined {
  const tooMany = moreThanFit(space.facts, request.guests);
  if (tooMany !== undefined) return tooMany;
  const { held, closed } = elsewhere ?? own;
  const taken = [...held.values()].map((each) => each.request).filter((each) => each.bookingId !== request.bookingId);
  const asked = hasNotice ? space : { ...space, noticeHours: 0 };
  const why = whyClosed(asked, wallDay(date, space.timeZone), startHour, { taken, closed: [...closed.values()] }, now);
  return why && closedRefusal(why, space, { spaceId: space.spaceId, date, startHour }, now);
}

const isAt = (
  { spaceId, date, startHour }: Pick<MovePlace, 'spaceId' | 'date' | 'startHour'>,
  to: Pick<MoveTarget, 'space' | 'date' | 'startHour'>,
): boolean => spaceId === to.space.spaceId && date === to.date && startHour === to.startHour;

const placeOf = ({ space, date, startHour }: MoveTarget): MovePlace => ({
  spaceId: space.spaceId,
  spaceName: space.name,
  date,
  startHour,
});

const placeIn = ({ spaceId, spaceName, date, startHour }: MovePlace): MovePlace => ({
  spaceId,
  spaceName,
  date,
  startHour,
});

const askedByOther = ({ askedBy, to, newPrice }: OpenMove): Refusal =>
  refuse(
    'BookingNotAllowed',
    `The ${askedBy === 'Brand' ? 'brand' : 'community'} has asked to move the booking to ${to.spaceName} ` +
      `(space ${to.spaceId}) on ${to.date} at ${to.startHour}:00${newPrice === undefined ? '' : ', for the price there'}. Answer that first.`,
  );
