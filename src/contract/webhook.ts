import { type Static, Type } from 'typebox';
import type { WebhookDocument } from '../../projections/webhooks.ts';
import { ALL_WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { Timestamp } from './scalars.ts';

/** A registered endpoint (docs/specification.md#resources). */
export const WebhookDto = Type.Object(
  {
    id: Type.String({ description: 'Registration identifier, wh_ followed by characters.' }),
    url: Type.String({ format: 'uri', description: 'Registered HTTPS endpoint.' }),
    events: Type.Integer({ description: 'Sum of the subscribed event values.' }),
    createdAt: Timestamp('Registration, UTC.'),
  },
  { title: 'WebhookDto' },
);

export const WebhookCreatedDto = Type.Object(
  {
    ...WebhookDto.properties,
    signingSecret: Type.String({
      description: 'HMAC-SHA256 secret for verifying deliveries. Returned only once.',
    }),
  },
  { title: 'WebhookCreatedDto' },
);

type Registered = Pick<WebhookDocument, 'webhookId' | 'url' | 'events' | 'createdAt'>;

export const toWebhookDto = ({ webhookId, url, events, createdAt }: Registered): Static<typeof WebhookDto> => ({
  id: webhookId,
  url,
  events,
  createdAt,
});

export const toWebhookCreatedDto = (
  webhook: Registered & { readonly signingSecret: string },
): Static<typeof WebhookCreatedDto> => ({ ...toWebhookDto(webhook), signingSecret: webhook.signingSecret });

export const WebhookParams = Type.Object({ id: Type.String({ description: 'Webhook identifier.' }) });

export const CreateWebhook = Type.Object({
  url: Type.String({ description: 'HTTPS endpoint that receives deliveries; must be publicly reachable.' }),
  events: Type.Integer({ description: `Sum of event values; ${ALL_WEBHOOK_EVENTS} subscribes to all.` }),
});
