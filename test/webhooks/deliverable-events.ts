import { randomUUIDv7 } from 'node:crypto';
import { type Actor, SYSTEM } from '../../src/domain/account.ts';
import type { BookingFacts, CancelledBy } from '../../src/domain/booking-events.ts';
import type {
  BookingApproved,
  BookingCancelled,
  BookingMoved,
  BookingRequested,
  DomainEvent,
  Recorded,
  ReviewPosted,
} from '../../src/domain/events.ts';
import {
  bookingId,
  brandId,
  cents,
  communityId,
  moveId,
  type PlainDate,
  reviewId,
  spaceId,
  timestamp,
} from '../../src/domain/ids.ts';

/** The default time of the events below. */
export const AT = '2026-04-20T09:30:00.000Z';

type Changes = {
  readonly bookingId?: number;
  readonly communityId?: number;
  readonly brandId?: number;
  readonly totalPrice?: number;
  readonly at?: string;
};

const facts = (changes: Changes): BookingFacts => ({
  bookingId: bookingId(changes.bookingId ?? 41),
  spaceId: spaceId(7),
  spaceName: 'Roof Terrace',
  communityId: communityId(changes.communityId ?? 3),
  brandId: brandId(changes.brandId ?? 9),
  brandName: 'Acme',
  date: '2026-05-02' as PlainDate,
  startHour: 18,
  endHour: 22,
  durationHours: 4,
  totalPrice: cents(changes.totalPrice ?? 17_255),
  currency: 'USD',
});

const recorded = <E extends DomainEvent>(event: E, at = AT, actor: Actor = SYSTEM): Recorded<E> => ({
  ...event,
  id: randomUUIDv7(),
  stream: 'spaceDay-7-2026-05-02',
  revision: 0,
  position: '1',
  metadata: { at: timestamp(at), actor, correlationId: 'c', schema: 1 },
});

export const requested = (changes: Changes & { readonly message?: string } = {}): Recorded<BookingRequested> =>
  recorded(
    {
      type: 'BookingRequested',
      data: {
        ...facts(changes),
        eventFee: cents(15_000),
        serviceFee: cents(2_255),
        serviceFeePercent: 15,
        timeZone: 'Europe/Zurich',
        freeFrom: 22,
        startsAt: timestamp('2026-05-02T16:00:00.000Z'),
        endsAt: timestamp('2026-05-02T20:00:00.000Z'),
        expiresAt: timestamp('2026-04-23T09:30:00.000Z'),
        ...(changes.message === undefined ? {} : { message: changes.message }),
      },
    },
    changes.at,
  );

/** The request above in another space on another day. */
export const moved = (changes: Changes = {}): Recorded<BookingMoved> => {
  const { data } = requested(changes);
  const from = { spaceId: data.spaceId, spaceName: data.spaceName, date: data.date, startHour: data.startHour };
  const to = { spaceId: spaceId(8), spaceName: 'Studio', date: '2026-05-04' as PlainDate };
  return recorded(
    { type: 'BookingMoved', data: { ...data, ...to, moveId: moveId('m1'), movedBy: 'Brand', status: 'Pending', from } },
    changes.at,
  );
};

export const approved = (changes: Changes = {}): Recorded<BookingApproved> =>
  recorded({ type: 'BookingApproved', data: { ...facts(changes), charge: facts(changes).totalPrice } }, changes.at);

export const cancelled = (
  changes: Changes & { readonly cancelledBy: CancelledBy; readonly reason?: string },
): Recorded<BookingCancelled> =>
  recorded(
    {
      type: 'BookingCancelled',
      data: {
        ...facts(changes),
        cancelledBy: changes.cancelledBy,
        refund: cents(0),
        ...(changes.reason === undefined ? {} : { reason: changes.reason }),
      },
    },
    changes.at,
  );

export const reviewed = (changes: Changes = {}): Recorded<ReviewPosted> => {
  const { communityId, spaceId, spaceName, brandId, brandName, bookingId } = facts(changes);
  const review = { rating: 4, title: 'Lovely', content: 'Great view.', isVerifiedBooking: true };
  return recorded(
    {
      type: 'ReviewPosted',
      data: { reviewId: reviewId(5), bookingId, communityId, spaceId, spaceName, brandId, brandName, ...review },
    },
    changes.at,
  );
};
