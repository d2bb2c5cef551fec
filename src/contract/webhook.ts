import type { WebhookDocument } from '../../projections/webhooks.ts';
import type { Timestamp as Moment } from '../domain/ids.ts';
import { listOf, WEBHOOK_URL } from '../domain/limits.ts';
import { ALL_WEBHOOK_EVENTS, WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { PublicAccount, toPublicAccount } from './account.ts';
import { Mask, OneOf, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

const WEBHOOK_ID = /^wh_[A-Za-z0-9_-]+$/;

/** A registered endpoint (docs/guides/rest-api.md#resources). */
export const WebhookDto = Type.Object(
  {
    id: Type.String({
      pattern: WEBHOOK_ID.source,
      description: 'Registration identifier, wh_ followed by characters.',
    }),
    url: Type.String({ format: 'uri', maxLength: WEBHOOK_URL.max, description: 'Registered HTTPS endpoint.' }),
    events: Mask(WEBHOOK_EVENTS, `Sum of the subscribed event values: ${listOf(WEBHOOK_EVENTS)}.`),
    createdAt: Timestamp('Registration, UTC.'),
    disabledReason: Type.Optional(
      Type.String({
        description: 'Why nothing is delivered at the moment; present only while the webhook is disabled.',
      }),
    ),
  },
  { title: 'WebhookDto', description: 'A registered webhook.' },
);

const { id, url, events, createdAt, disabledReason } = WebhookDto.properties;

export const WebhookCreatedDto = Type.Object(
  {
    ...{ id, url, events, createdAt },
    signingSecret: Type.String({
      pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
      description: 'HMAC-SHA256 secret for verifying deliveries. Returned only once.',
    }),
  },
  { title: 'WebhookCreatedDto', description: 'A new webhook with its signing secret.' },
);

/** A registration as an operator sees it, without its secrets: the command line's JSON. */
export const OperatorWebhook = Type.Object({
  id,
  account: PublicAccount,
  credential: Type.String({ description: 'The API key, client or user that registered it.' }),
  url,
  events,
  status: OneOf<WebhookDocument['status']>(['enabled', 'disabled']),
  disabledReason,
  pausedSince: Type.Optional(
    Timestamp('Since when its endpoint has been failing so that one delivery at a time is tried, UTC.'),
  ),
  nextAttemptAt: Type.Optional(Timestamp('While it is paused: when the next attempt is due, UTC.')),
  createdAt,
});

/** The new secret of a registration. */
export const OperatorWebhookSecret = Type.Object({
  id,
  signingSecret: WebhookCreatedDto.properties.signingSecret,
  previousUntil: Timestamp('Until then deliveries are also signed with the old secret, UTC.'),
});

type Registered = Pick<WebhookDocument, 'webhookId' | 'url' | 'events' | 'createdAt' | 'disabledReason'>;

/** The only public mapping of a registration's facts; a shape picks what it lists. */
const publicWebhook = <R extends { readonly webhookId: string }>(webhook: R) => ({
  ...webhook,
  id: webhook.webhookId,
});

const dto = shaped(WebhookDto);
const createdDto = shaped(WebhookCreatedDto);
const operatorWebhook = shaped(OperatorWebhook);
const operatorWebhookSecret = shaped(OperatorWebhookSecret);

export const toWebhookDto = ({ disabledReason, ...webhook }: Registered): Static<typeof WebhookDto> =>
  dto({ ...publicWebhook(webhook), disabledReason });

export const toWebhookCreatedDto = (
  webhook: Registered & { readonly signingSecret: string },
): Static<typeof WebhookCreatedDto> => createdDto(publicWebhook(webhook));

export const toOperatorWebhook = (
  webhook: WebhookDocument & { readonly pausedSince?: Moment; readonly nextAttemptAt?: Moment },
): Static<typeof OperatorWebhook> =>
  operatorWebhook({ ...publicWebhook(webhook), account: toPublicAccount(webhook.owner) });

export const toOperatorWebhookSecret = (rotated: {
  readonly webhookId: string;
  readonly signingSecret: string;
  readonly previousUntil: Moment;
}): Static<typeof OperatorWebhookSecret> => operatorWebhookSecret(publicWebhook(rotated));

export const WebhookParams = Type.Object({
  id: Type.String({ pattern: WEBHOOK_ID.source, maxLength: 100, description: 'Webhook identifier.' }),
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
