import { type Static, type TObject, Type } from 'typebox';
import type { DeliveryKind } from '../../domain/webhook.ts';
import { BookingApprovedData, BookingCancelledData, BookingMovedData, BookingRequestedData } from './booking.ts';
import { ReviewPostedData } from './review.ts';
import { Timestamp } from './scalars.ts';

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
  BookingMoved: payload('BookingMoved', BookingMovedData),
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
