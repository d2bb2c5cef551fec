import type { WebhookDocument } from '../../projections/webhooks.ts';
import type { Timestamp as Moment } from '../domain/ids.ts';
import { ALL_WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { PublicAccount, toPublicAccount } from './account.ts';
import { OneOf, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

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

const { id, url, events, createdAt } = WebhookDto.properties;

/** A registration as an operator sees it, without its secrets: the command line's JSON. */
export const OperatorWebhook = Type.Object({
  id,
  account: PublicAccount,
  credential: Type.String({ description: 'The API key, client or user that registered it.' }),
  url,
  events,
  status: OneOf<WebhookDocument['status']>(['enabled', 'disabled']),
  disabledReason: Type.Optional(Type.String({ description: 'Why it was disabled.' })),
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

type Registered = Pick<WebhookDocument, 'webhookId' | 'url' | 'events' | 'createdAt'>;

/** The only public mapping of a registration's facts; a shape picks what it lists. */
const publicWebhook = <R extends { readonly webhookId: string }>(webhook: R) => ({
  ...webhook,
  id: webhook.webhookId,
});

const dto = shaped(WebhookDto);
const createdDto = shaped(WebhookCreatedDto);
const operatorWebhook = shaped(OperatorWebhook);
const operatorWebhookSecret = shaped(OperatorWebhookSecret);

export const toWebhookDto = (webhook: Registered): Static<typeof WebhookDto> => dto(publicWebhook(webhook));

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

export const WebhookParams = Type.Object({ id: Type.String({ description: 'Webhook identifier.' }) });

export const CreateWebhook = Type.Object({
  url: Type.String({ description: 'HTTPS endpoint that receives deliveries; must be publicly reachable.' }),
  events: Type.Integer({ description: `Sum of event values; ${ALL_WEBHOOK_EVENTS} subscribes to all.` }),
});
