import type { WebhookDocument } from '../../projections/webhooks.ts';
import type { Timestamp } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import { toPublicAccount } from './account.ts';
import type { WebhookCreatedDto, WebhookDto } from './schemas/webhook.ts';

type Registered = Pick<WebhookDocument, 'webhookId' | 'url' | 'events' | 'createdAt' | 'disabledReason'>;

export const toWebhookDto = (webhook: Registered): WebhookDto => ({
  id: webhook.webhookId,
  ...picked(webhook, ['url', 'events', 'createdAt', 'disabledReason']),
});

export const toWebhookCreatedDto = (webhook: Registered & { readonly signingSecret: string }): WebhookCreatedDto => ({
  id: webhook.webhookId,
  ...picked(webhook, ['url', 'events', 'createdAt', 'signingSecret']),
});

/** A registration as the command line prints it with `--json`, without its secrets. */
export const toOperatorWebhook = (
  webhook: WebhookDocument & { readonly pausedSince?: Timestamp; readonly nextAttemptAt?: Timestamp },
) => ({
  id: webhook.webhookId,
  account: toPublicAccount(webhook.owner),
  ...picked(webhook, ['credential', 'url', 'events', 'status', 'disabledReason']),
  ...picked(webhook, ['pausedSince', 'nextAttemptAt', 'createdAt']),
});
