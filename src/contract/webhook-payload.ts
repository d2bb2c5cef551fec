import type { BookingApproved, BookingCancelled, BookingRequested, Recorded, ReviewPosted } from '../domain/events.ts';
import type { Timestamp as Moment, WebhookId } from '../domain/ids.ts';
import { erased, type Readable, type SealedTexts, sealedTextsIn } from '../domain/personal-text.ts';
import { statusAfter } from '../domain/space-day.ts';
import { WEBHOOK_EVENTS, type WebhookEventName } from '../domain/webhook.ts';
import { BookingApprovedData, BookingCancelledData, BookingRequestedData, publicFacts } from './booking.ts';
import { publicReview, ReviewPostedData } from './review.ts';
import { Timestamp } from './scalars.ts';
import { type Static, type TObject, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** The events that go out to subscribers (docs/guides/webhooks.md#events). */
export type DeliverableEvent = BookingRequested | BookingApproved | BookingCancelled | ReviewPosted;

/** The kind of a delivery: an event that can be subscribed to, or `Test`, which an owner sends to try out a receiver. */
export type DeliveryKind = WebhookEventName | 'Test';

const payload = <K extends DeliveryKind, D extends TObject>(event: K, data: D) =>
  Type.Object(
    { event: Type.Literal(event), timestamp: Timestamp('Time of the event, UTC.'), data },
    { title: `${event}Delivery`, description: `The body of a delivery of ${event}.` },
  );

/** The JSON of each kind of delivery, with no further fields (docs/guides/webhooks.md#events). */
export const WebhookPayloads = {
  BookingRequested: payload('BookingRequested', BookingRequestedData),
  BookingApproved: payload('BookingApproved', BookingApprovedData),
  BookingCancelled: payload('BookingCancelled', BookingCancelledData),
  ReviewPosted: payload('ReviewPosted', ReviewPostedData),
  Test: payload(
    'Test',
    Type.Object(
      { webhookId: Type.String({ description: 'The registration that is tried out.' }) },
      { title: 'TestData', description: 'What a test delivery carries.' },
    ),
  ),
} satisfies { readonly [K in DeliveryKind]: TObject };

export type Payload = { [K in DeliveryKind]: Static<(typeof WebhookPayloads)[K]> }[DeliveryKind];

/** Whether an event in the log can be subscribed to. */
export const isDeliverable = (event: Recorded): event is Recorded<DeliverableEvent> => event.type in WEBHOOK_EVENTS;

const requested = shaped(BookingRequestedData);
const approved = shaped(BookingApprovedData);
const cancelled = shaped(BookingCancelledData);
const posted = shaped(ReviewPostedData);

/**
 * What subscribers are told about an event, and the sealed texts that are opened when it is sent. Until then, and for good if
 * their subject is forgotten before, the payload says that they were erased.
 */
export type Notice = { readonly payload: Payload; readonly sealed?: SealedTexts };

export function noticeOf(event: Recorded<DeliverableEvent>): Notice {
  const sealed = sealedTextsIn(event.data);
  const payload = payloadOf(erased(event));
  return Object.keys(sealed).length === 0 ? { payload } : { payload, sealed };
}

/** What subscribers are told about an event. A message or reason that was not given is absent. */
function payloadOf(event: Readable<Recorded<DeliverableEvent>>): Payload {
  const { at: timestamp } = event.metadata;
  if (event.type === 'ReviewPosted')
    return { event: event.type, timestamp, data: posted({ ...publicReview(event.data), createdAt: timestamp }) };
  const { bookingId } = event.data;
  const data = { ...publicFacts(event.data), bookingId, status: statusAfter(event) };
  switch (event.type) {
    case 'BookingRequested':
      return { event: event.type, timestamp, data: requested(data) };
    case 'BookingApproved':
      return { event: event.type, timestamp, data: approved(data) };
    case 'BookingCancelled': {
      const { cancelledBy, reason } = event.data;
      return { event: event.type, timestamp, data: cancelled({ ...data, cancelledBy, reason }) };
    }
    default:
      return event satisfies never;
  }
}

/** The payload of a test delivery, with which an owner checks a receiver. */
export const testPayload = (webhookId: WebhookId, at: Moment): Payload => ({
  event: 'Test',
  timestamp: at,
  data: { webhookId },
});
