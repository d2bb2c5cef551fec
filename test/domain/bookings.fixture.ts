import type { BookingDetails } from '../../src/domain/booking-details.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { defined } from '../../src/domain/defined.ts';
import type { BookingEvent, BookingRequested, TimeClosed, TimeReopened } from '../../src/domain/events.ts';
import { bookingId, brandId, cents, closureId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { type BookingContext, type RequestBooking, requestBooking } from '../../src/domain/request-booking.ts';
import type { Space } from '../../src/domain/space.ts';
import { EMPTY_SPACE_DAY, factsOf } from '../../src/domain/space-day.ts';

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

/** What a test may set of a request: its details next to the rest. */
export type RequestOverrides = Partial<Omit<RequestBooking, 'details'> & Omit<BookingDetails, 'spaceId'>>;

export const requestCommand = ({
  bookingId: id = bookingId(1),
  space = hall,
  brand = acme,
  idempotencyKey,
  ...details
}: RequestOverrides = {}): RequestBooking => ({
  bookingId: id,
  space,
  brand,
  details: { spaceId: space.spaceId, date: day('2026-12-10'), startHour: 10, ...details },
  ...defined({ idempotencyKey }),
});

/** The event of a request on an empty day. */
export function requested(fields: RequestOverrides = {}, when = context): BookingRequested {
  const decision = requestBooking(EMPTY_SPACE_DAY, requestCommand(fields), when);
  const [event] = isRefusal(decision) ? [] : decision;
  if (event?.type !== 'BookingRequested') throw new Error(JSON.stringify(decision));
  return event;
}

/** The data of a request as if the time-zone rules had then put every local time so many hours later (earlier if negative). */
export function underOtherRules(data: BookingRequested['data'], hours: number): BookingRequested['data'] {
  const moved = (moment: string) => toTimestamp(Date.parse(moment) + hours * 3_600_000);
  const expiresAt = data.expiresAt === data.startsAt ? moved(data.startsAt) : data.expiresAt;
  return { ...data, startsAt: moved(data.startsAt), endsAt: moved(data.endsAt), expiresAt };
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

const theDay = {
  spaceId: hall.spaceId,
  communityId: hall.communityId,
  date: day('2026-12-10'),
  closureId: closureId('c1'),
};

/** Closes the hall for the whole day. */
export const timeClosed = (fields: Partial<TimeClosed['data']> = {}): TimeClosed => ({
  type: 'TimeClosed',
  data: { ...theDay, kind: 'Closure', start: 0, until: 24, ...fields },
});
export const timeReopened = (fields: Partial<TimeReopened['data']> = {}): TimeReopened => ({
  type: 'TimeReopened',
  data: { ...theDay, ...fields },
});
