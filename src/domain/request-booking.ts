import { type Standing, TURNED_AWAY } from './admission.ts';
import { type BookingDetails, detailsOf, fingerprintOf, wrongDetails } from './booking-details.ts';
import type { ApprovedAtOnce } from './booking-events.ts';
import { toTimestamp, type WallDay, wallDay } from './calendar.ts';
import { closedRefusal } from './closed-refusal.ts';
import type { AgreedPrices } from './customer-details.ts';
import { type Decision, type Refusal, refuse } from './decision.ts';
import { defined } from './defined.ts';
import { moreThanFit } from './description.ts';
import type { BookingApproved, BookingRequested } from './events.ts';
import { feeOn } from './fee-on.ts';
import type { BookingId, BrandId, Cents } from './ids.ts';
import { brokenTextRule, EVENT_FEE, IDEMPOTENCY_KEY, wrongNumber } from './limits.ts';
import { priceOf } from './pricing.ts';
import type { Space } from './space.ts';
import { type BookingState, brandKey, factsOf, heldHours, type SpaceDay } from './space-day.ts';
import { timesIn, whyClosed } from './time-slots.ts';

export type RequestBooking = {
  readonly bookingId: BookingId;
  readonly space: Space;
  readonly brand: { readonly brandId: BrandId; readonly name: string };
  readonly details: BookingDetails;
  /** How the brand stands with the community. Default: let in. */
  readonly standing?: Standing;
  /** What was agreed with the brand. */
  readonly agreed?: AgreedPrices;
  /** Present if the community enters the booking itself. */
  readonly entry?: Entry;
  readonly idempotencyKey?: string;
  /** HMAC of the details under the key of their subject. Only with an idempotency key and personal details. */
  readonly fingerprint?: string;
};

/** How a community enters a booking of its customer. */
export type Entry = {
  /** In place of the one that was agreed, or that of the space. */
  readonly eventFee?: Cents;
  /** Whether the event may begin before the notice of the space is over. */
  readonly isAtShortNotice?: boolean;
};

export type BookingContext = {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly serviceFeePercent: number;
  readonly currency: string;
};

/** The refusal of a request whose key was used for a different one. */
export const KEY_REUSED = refuse(
  'BookingNotAllowed',
  'This Idempotency-Key was already used for a different booking request.',
  { reason: 'KeyReused' },
);

/** The booking that was made with this request's idempotency key, if any, as it was requested. */
export function findByIdempotencyKey(day: SpaceDay, command: RequestBooking): BookingState | undefined {
  if (command.idempotencyKey === undefined) return undefined;
  return day.bookingByKey.get(brandKey(command.brand.brandId, command.idempotencyKey));
}

/**
 * Decides a booking request. No event if its idempotency key already has a booking. Refuses `BookingNotAllowed` if the
 * space is inactive, the date is past or too far ahead, or the key was used for something else, and `SlotUnavailable` if the hour is outside
 * the window, past, skipped by a clock change, or taken (docs/decisions/bookings.md). A request of a trusted brand, or one that the community
 * enters itself, is approved in the same step.
 */
export function requestBooking(
  day: SpaceDay,
  command: RequestBooking,
  context: BookingContext,
): Decision<BookingRequested | BookingApproved> {
  const { space, details, idempotencyKey, fingerprint, entry } = command;
  const { date, startHour } = details;
  const wrong =
    wrongDetails(details) ??
    (idempotencyKey === undefined ? undefined : wrongKey(idempotencyKey)) ??
    (entry?.eventFee === undefined ? undefined : wrongNumber('eventFee', entry.eventFee, EVENT_FEE));
  if (wrong !== undefined) return wrong;

  const before = findByIdempotencyKey(day, command)?.request;
  if (before !== undefined) {
    // Personal details are sealed in the event, so compare their digest.
    const isRepeated =
      before.fingerprint === undefined
        ? fingerprintOf(before) === fingerprintOf(details)
        : before.fingerprint === fingerprint;
    return isRepeated ? [] : KEY_REUSED;
  }

  if (command.standing === 'turnedAway') return TURNED_AWAY;
  const tooMany = moreThanFit(space.facts, details.guests);
  if (tooMany !== undefined) return tooMany;

  const wall = wallDay(date, space.timeZone);
  const asked = entry?.isAtShortNotice ? { ...space, noticeHours: 0 } : space;
  const closed = whyClosed(asked, wall, startHour, heldHours(day), context.now);
  if (closed !== undefined) return closedRefusal(closed, space, details, context.now);
  const data = termsOfRequest(command, wall, context);
  const requested: BookingRequested = { type: 'BookingRequested', data };
  if (data.approval === undefined) return [requested];
  return [requested, { type: 'BookingApproved', data: { ...factsOf(data), charge: data.totalPrice } }];
}

/** Why a request is approved at once, if it is. */
const approvalOf = ({ entry, standing }: RequestBooking): ApprovedAtOnce | undefined =>
  entry === undefined ? (standing === 'trusted' ? 'trusted' : undefined) : 'entered';

/** The prices and times of a request, fixed now. */
function termsOfRequest(command: RequestBooking, wall: WallDay, context: BookingContext): BookingRequested['data'] {
  const { space, brand, details, idempotencyKey, fingerprint, entry, agreed = {} } = command;
  const times = timesIn(space, wall, details.startHour);
  const eventFee = entry?.eventFee ?? feeOn(space, details.date, agreed);
  return defined({
    bookingId: command.bookingId,
    ...detailsOf(details),
    ...times,
    communityId: space.communityId,
    brandId: brand.brandId,
    brandName: brand.name,
    ...priceOf(eventFee, context.serviceFeePercent),
    currency: context.currency,
    expiresAt: toTimestamp(Math.min(Date.parse(times.startsAt), context.now + space.answerHours * 3_600_000)),
    approval: approvalOf(command),
    idempotencyKey,
    fingerprint,
  });
}

function wrongKey(key: string): Refusal | undefined {
  const rule = brokenTextRule(key, IDEMPOTENCY_KEY);
  return rule === undefined ? undefined : refuse('ValidationError', `The idempotency key ${rule}.`);
}
