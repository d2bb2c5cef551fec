import type { BookingDocument, ReadableBooking } from '../../projections/bookings.ts';
import type { ReviewDocument } from '../../projections/reviews.ts';
import { toBookingDto } from '../../src/contract/booking.ts';
import { ERROR_STATUS } from '../../src/contract/schemas/errors.ts';
import type { Account } from '../../src/domain/account.ts';
import { type Decision, isRefusal, type Refusal } from '../../src/domain/decision.ts';
import type { DomainEvent, SpaceTerms } from '../../src/domain/events.ts';
import { brandId, cents, communityId } from '../../src/domain/ids.ts';
import { picked } from '../../src/domain/picked.ts';
import type { Answer, Party, Terms } from '../model/model.ts';

export const refused = (error: Refusal['refused']): Answer => ({ status: ERROR_STATUS[error], error });
/** The answer to a decision, which has no body. */
export const answerOf = (decision: Decision<DomainEvent>, status = 200): Answer =>
  isRefusal(decision) ? refused(decision.refused) : { status };

/** No text is sealed here. */
export const dtoOf = (document: BookingDocument) => toBookingDto(document as ReadableBooking);

/** In the order of lists. */
export function listed(documents: readonly BookingDocument[]) {
  const order = ({ date, startHour, bookingId }: BookingDocument) => [date, startHour + 100, bookingId + 1e9].join();
  return documents.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).map(dtoOf);
}

export const reviewOf = ({ reviewId: id, communityId: propertyId, ...review }: ReviewDocument) => ({
  ...{ id, propertyId },
  ...picked(review, ['spaceId', 'rating', 'isVerifiedBooking', 'createdAt', 'title', 'content']),
});

export const accountOf = ({ kind, id }: Party): Account =>
  kind === 'Brand' ? { kind, id: brandId(id) } : { kind, id: communityId(id) };

/** Amounts are cents in events. */
export function stored(terms: Terms): Omit<SpaceTerms, 'name'>;
export function stored(terms: Partial<Terms>): Partial<SpaceTerms>;
export function stored({ eventFee, week, ...terms }: Partial<Terms>): Partial<SpaceTerms> {
  return {
    ...terms,
    ...(eventFee !== undefined && { eventFee: cents(eventFee) }),
    ...(week && { week: week.map((day) => (day === 'closed' ? day : { ...day, eventFee: cents(day.eventFee) })) }),
  };
}
