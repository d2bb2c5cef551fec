import { type Static, Type } from 'typebox';
import { listOf, WEBHOOK_URL } from '../../domain/limits.ts';
import { ALL_WEBHOOK_EVENTS, WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import { Mask, Timestamp } from './scalars.ts';

const WEBHOOK_ID = '^wh_[A-Za-z0-9_-]+$';

const registered = {
  id: Type.String({ pattern: WEBHOOK_ID, description: 'Registration identifier, wh_ followed by characters.' }),
  url: Type.String({ format: 'uri', maxLength: WEBHOOK_URL.max, description: 'Registered HTTPS endpoint.' }),
  events: Mask(WEBHOOK_EVENTS, `Sum of the subscribed event values: ${listOf(WEBHOOK_EVENTS)}.`),
  createdAt: Timestamp('Registration, UTC.'),
};

/** A registered endpoint (docs/guides/rest-api.md#resources). */
export const WebhookDto = Type.Object(
  {
    ...registered,
    disabledReason: Type.Optional(
      Type.String({
        description: 'Why nothing is delivered at the moment; present only while the webhook is disabled.',
      }),
    ),
  },
  { title: 'WebhookDto', description: 'A registered webhook.' },
);
export type WebhookDto = Static<typeof WebhookDto>;

export const WebhookCreatedDto = Type.Object(
  {
    ...registered,
    signingSecret: Type.String({
      pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
      description: 'HMAC-SHA256 secret for verifying deliveries. Returned only once.',
    }),
  },
  { title: 'WebhookCreatedDto', description: 'A new webhook with its signing secret.' },
);
export type WebhookCreatedDto = Static<typeof WebhookCreatedDto>;

export const WebhookParams = Type.Object({
  id: Type.String({ pattern: WEBHOOK_ID, maxLength: 100, description: 'Webhook identifier.' }),
});

export const CreateWebhook = Type.Object(
  {
    url: Type.String({
      format: 'uri',
      minLength: WEBHOOK_URL.min,
      maxLength: WEBHOOK_URL.max,
      description: 'HTTPS endpoint that receives deliveries; must be publicly reachable.',
    }),
    events: Mask(
      WEBHOOK_EVENTS,
      `Sum of event values: ${listOf(WEBHOOK_EVENTS)}. ${ALL_WEBHOOK_EVENTS} subscribes to all.`,
    ),
  },
  { title: 'CreateWebhook', description: 'A webhook to register.' },
);
