import type { WebhookDocument } from '../../projections/webhooks.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { toPublicAccount } from './account.ts';
import type { WebhookCreatedDto, WebhookDto } from './schemas/webhook.ts';

type Registered = Pick<WebhookDocument, 'webhookId' | 'url' | 'events' | 'createdAt' | 'disabledReason'>;

export const toWebhookDto = ({ webhookId: id, url, events, createdAt, disabledReason }: Registered): WebhookDto => ({
  id,
  url,
  events,
  createdAt,
  ...defined({ disabledReason }),
});

export const toWebhookCreatedDto = (webhook: Registered & { readonly signingSecret: string }): WebhookCreatedDto => {
  const { webhookId: id, url, events, createdAt, signingSecret } = webhook;
  return { id, url, events, createdAt, signingSecret };
};

/** A registration as the command line prints it with `--json`, without its secrets. */
export const toOperatorWebhook = (
  webhook: WebhookDocument & { readonly pausedSince?: Timestamp; readonly nextAttemptAt?: Timestamp },
) => {
  const { webhookId: id, credential, url, events, status, disabledReason, createdAt } = webhook;
  const { pausedSince, nextAttemptAt } = webhook;
  const account = toPublicAccount(webhook.owner);
  return { id, account, credential, url, events, status, disabledReason, pausedSince, nextAttemptAt, createdAt };
};
