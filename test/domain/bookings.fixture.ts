import type { BookingDetails } from '../../src/domain/booking-details.ts';
import { defined } from '../../src/domain/defined.ts';
import type { BookingEvent, BookingRequested } from '../../src/domain/events.ts';
import { bookingId, brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import type { Space } from '../../src/domain/space.ts';
import {
  type BookingContext,
  EMPTY_SPACE_DAY,
  factsOf,
  type RequestBooking,
  requestBooking,
} from '../../src/domain/space-day.ts';

/** A hall in Berlin, open 9 to 22, four-hour events at 200.00. */
export const hall: Space = {
  spaceId: spaceId(7),
  communityId: communityId(1),
  name: 'Great Hall',
  timeZone: 'Europe/Berlin',
  windowStart: 9,
  windowEnd: 22,
  durationHours: 4,
  eventFee: cents(20_000),
  answerHours: 72,
  active: true,
};

export const acme = { brandId: brandId(3), name: 'Acme' };
export const other = { brandId: brandId(4), name: 'Other' };

export const day = (text: string) => text as PlainDate;
export const at = (iso: string) => Date.parse(iso);

/** Noon in Berlin on 1 December 2026. */
export const context: BookingContext = { now: at('2026-12-01T11:00:00Z'), serviceFeePercent: 15, currency: 'USD' };

/** A request as tests write it: the details beside the rest. */
export type Wish = Partial<Omit<RequestBooking, 'details'> & Omit<BookingDetails, 'spaceId'>>;

export const wish = ({
  bookingId: id = bookingId(1),
  space = hall,
  brand = acme,
  idempotencyKey,
  ...details
}: Wish = {}): RequestBooking => ({
  bookingId: id,
  space,
  brand,
  details: { spaceId: space.spaceId, date: day('2026-12-10'), startHour: 10, ...details },
  ...defined({ idempotencyKey }),
});

/** The event that a request makes on an empty day. */
export function requested(fields: Wish = {}, when = context): BookingRequested {
  const decision = requestBooking(EMPTY_SPACE_DAY, wish(fields), when);
  if (!('length' in decision) || decision[0] === undefined) throw new Error(JSON.stringify(decision));
  return decision[0];
}

export const approved = (request = requested()): BookingEvent => ({
  type: 'BookingApproved',
  data: { ...factsOf(request.data), charge: request.data.totalPrice },
});
export const cancelledByBrand = (request = requested()): BookingEvent => ({
  type: 'BookingCancelled',
  data: { ...factsOf(request.data), cancelledBy: 'Brand', refund: cents(0) },
});
export const completed = (request = requested()): BookingEvent => ({
  type: 'BookingCompleted',
  data: factsOf(request.data),
});
