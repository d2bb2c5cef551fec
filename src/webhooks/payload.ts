import type {
  BookingApproved,
  BookingCancelled,
  BookingFacts,
  BookingRequested,
  Recorded,
  ReviewPosted,
} from '../domain/events.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import { toAmount } from '../domain/pricing.ts';
import { WEBHOOK_EVENTS, type WebhookEventName } from '../domain/webhook.ts';

/** The events that go out to subscribers (docs/specification.md#events). */
export type DeliverableEvent = BookingRequested | BookingApproved | BookingCancelled | ReviewPosted;

/** What a delivery tells: one of the subscribable kinds, or `Test`, which an owner sends to try a receiver out. */
export type DeliveryKind = WebhookEventName | 'Test';

/** The JSON of a delivery, nothing beside it (docs/specification.md#events). */
export type Payload = {
  readonly event: DeliveryKind;
  readonly timestamp: Timestamp;
  readonly data: Readonly<Record<string, string | number | boolean>>;
};

/** Whether an event of the log goes out to subscribers at all. */
export const isDeliverable = (event: Recorded): event is Recorded<DeliverableEvent> => event.type in WEBHOOK_EVENTS;

/**
 * What subscribers are told of an event (docs/decisions/webhook-deliveries.md). A message or reason that was not given is
 * absent.
 */
export function payloadOf(event: Recorded<DeliverableEvent>): Payload {
  return { event: event.type, timestamp: event.metadata.at, data: dataOf(event) };
}

/** A delivery that an owner asks for to see whether the receiver works. */
export const testPayload = (webhookId: WebhookId, at: Timestamp): Payload => ({
  event: 'Test',
  timestamp: at,
  data: { webhookId },
});

function dataOf(event: Recorded<DeliverableEvent>): Payload['data'] {
  switch (event.type) {
    case 'BookingRequested': {
      const { message } = event.data;
      return { ...bookingData(event.data, 'Pending'), ...(message === undefined ? {} : { message }) };
    }
    case 'BookingApproved':
      return bookingData(event.data, 'Approved');
    case 'BookingCancelled': {
      const { cancelledBy, reason } = event.data;
      return { ...bookingData(event.data, 'Cancelled'), cancelledBy, ...(reason === undefined ? {} : { reason }) };
    }
    case 'ReviewPosted': {
      const { reviewId, bookingId, communityId, spaceId, rating, title, content, isVerifiedBooking } = event.data;
      return {
        id: reviewId,
        reviewId,
        bookingId,
        propertyId: communityId,
        spaceId,
        rating,
        title,
        content,
        isVerifiedBooking,
        createdAt: event.metadata.at,
      };
    }
    default:
      return event satisfies never;
  }
}

function bookingData(facts: BookingFacts, status: 'Pending' | 'Approved' | 'Cancelled') {
  const { bookingId, spaceId, spaceName, date, startHour, endHour, totalPrice } = facts;
  return { bookingId, spaceId, spaceName, date, startHour, endHour, status, totalPrice: toAmount(totalPrice) };
}
