import { NOT_REPEATED } from '../domain/booking-details.ts';
import { defined } from '../domain/defined.ts';
import { type EventTrace, traceIn } from '../domain/event-trace.ts';
import type {
  BookingApproved,
  BookingCancelled,
  BookingMoved,
  BookingRequested,
  Recorded,
  ReviewPosted,
} from '../domain/events.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import { erased, type Readable, type SealedTexts, sealedTextsIn } from '../domain/personal-text.ts';
import { picked } from '../domain/picked.ts';
import { statusAfter } from '../domain/space-day.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { publicFacts } from './booking.ts';
import type { Payload } from './schemas/webhook-payload.ts';

export type { DeliveryKind } from '../domain/webhook.ts';
export type { Payload } from './schemas/webhook-payload.ts';

/** The events that go out to subscribers (docs/guides/webhooks.md#events). */
export type DeliverableEvent = BookingRequested | BookingApproved | BookingCancelled | BookingMoved | ReviewPosted;

/** Whether an event in the log can be subscribed to. */
export const isDeliverable = (event: Recorded): event is Recorded<DeliverableEvent> => event.type in WEBHOOK_EVENTS;

/**
 * The payload for the subscribers of an event, and its sealed texts. The payload holds the marker of erased texts in their place; sending
 * replaces it with the opened texts, unless their subject has been forgotten.
 */
export type Notice = {
  readonly payload: Payload;
  readonly sealed?: SealedTexts;
  /** The trace of the event. */
  readonly trace?: EventTrace;
};

export function noticeOf(event: Recorded<DeliverableEvent>): Notice {
  const sealed = sealedTextsIn(event.data);
  const hasTexts = Object.keys(sealed).length > 0;
  return {
    payload: payloadOf(erased(event)),
    ...(hasTexts && { sealed }),
    ...defined({ trace: traceIn(event.metadata) }),
  };
}

/** The payload for the subscribers of an event. A text that was not given is absent. */
function payloadOf(event: Readable<Recorded<DeliverableEvent>>): Payload {
  const { at: timestamp } = event.metadata;
  if (event.type === 'ReviewPosted') {
    const { reviewId, bookingId, communityId: propertyId, ...review } = event.data;
    const facts = picked(review, ['spaceId', 'rating', 'title', 'content', 'isVerifiedBooking']);
    const data = { id: reviewId, reviewId, bookingId, propertyId, ...facts, createdAt: timestamp };
    return { event: event.type, timestamp, data };
  }
  const { bookingId, brandName } = event.data;
  const data = { bookingId, ...publicFacts(event.data, statusAfter(event)), brandName };
  switch (event.type) {
    case 'BookingRequested':
      return { event: event.type, timestamp, data: { ...data, ...picked(event.data, NOT_REPEATED) } };
    case 'BookingApproved':
      return { event: event.type, timestamp, data };
    case 'BookingMoved': {
      const { movedBy, from } = event.data;
      return { event: event.type, timestamp, data: { ...data, movedBy, from } };
    }
    case 'BookingCancelled': {
      const { cancelledBy, reason } = event.data;
      return { event: event.type, timestamp, data: { ...data, cancelledBy, ...defined({ reason }) } };
    }
    default:
      return event satisfies never;
  }
}

/** The payload of a test delivery, which checks a receiver. */
export const testPayload = (webhookId: WebhookId, at: Timestamp): Payload => ({
  event: 'Test',
  timestamp: at,
  data: { webhookId },
});
