import { type Account, type AccountKey, accountKey } from '../src/domain/account.ts';
import type { WebhookEvent, WebhookOwner } from '../src/domain/events.ts';
import type { Timestamp, WebhookId } from '../src/domain/ids.ts';
import { MAX_SECRETS } from '../src/domain/webhook.ts';
import { projection } from './projection.ts';

export type WebhookDocument = {
  readonly webhookId: WebhookId;
  readonly owner: Account;
  readonly account: AccountKey;
  readonly credential: WebhookOwner['credential'];
  readonly url: string;
  /** Sum of event values. */
  readonly events: number;
  readonly status: 'enabled' | 'disabled';
  readonly disabledReason?: string;
  readonly sealedSecret: string;
  /** The secrets that were replaced last, the latest first. Each also signs until its time. */
  readonly previousSecrets: readonly { readonly sealed: string; readonly until: Timestamp }[];
  readonly createdAt: Timestamp;
  /** Position of the registration; earlier events are not delivered to it. */
  readonly registeredAt: string;
  /** Position of the registration, or of the last time it was enabled. */
  readonly activeSince: string;
};

/** Webhook registrations; removing one deletes its document. */
export const webhooks = projection<WebhookDocument, WebhookEvent>({
  name: 'webhooks',
  version: 4,
  indexes: [{ fields: ['account', 'createdAt'] }, { fields: ['credential', 'account', 'createdAt'] }],
  key: (event) => event.data.webhookId,
  on: {
    WebhookRegistered: (_, { data, metadata, position }) => ({
      webhookId: data.webhookId,
      owner: data.owner.account,
      account: accountKey(data.owner.account),
      credential: data.owner.credential,
      url: data.url,
      events: data.events,
      status: 'enabled',
      sealedSecret: data.sealedSecret,
      previousSecrets: [],
      createdAt: metadata.at,
      registeredAt: position,
      activeSince: position,
    }),
    WebhookSecretRotated: (document, { data }) =>
      document && {
        ...document,
        sealedSecret: data.sealedSecret,
        previousSecrets: [
          { sealed: document.sealedSecret, until: data.previousUntil },
          ...document.previousSecrets,
        ].slice(0, MAX_SECRETS - 1),
      },
    WebhookDisabled: (document, { data }) =>
      document && { ...document, status: 'disabled', disabledReason: data.reason },
    WebhookEnabled: (document, { position }) => {
      if (document === undefined) return undefined;
      const { disabledReason: _, ...enabled } = document;
      return { ...enabled, status: 'enabled', activeSince: position };
    },
    WebhookRemoved: () => undefined,
  },
});
