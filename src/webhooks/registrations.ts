import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import type { DeliverableEvent } from '../contract/webhook-payload.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Recorded } from '../domain/events.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { purposes } from '../secrets/purposes.ts';
import { unseal } from '../secrets/seal.ts';
import type { Secrets } from './signature.ts';

/** Where deliveries of a registration go now, and with which secrets they are signed: the present one first. */
export type Recipient = Pick<WebhookDocument, 'webhookId' | 'account' | 'url'> & { readonly secrets: Secrets };

/** A registration that gets nothing, and why. */
export type Inactive = { readonly inactive: string };

/** Whether an OAuth client may (still) act for an account. */
export type IsConnected = (clientId: string, account: Account) => Promise<boolean>;

export type Registrations = ReturnType<typeof createRegistrations>;

const ofAccounts = declareQuery(
  webhooks,
  (accounts: readonly AccountKey[]): Find<WebhookDocument> => ({ where: { account: { in: accounts } } }),
  [['Community:1', 'Brand:1']],
);

/** Who may be sent what, as the read models show it now. */
export function createRegistrations(deps: {
  readonly readModels: ReadModels;
  readonly credentials: Pick<Credentials, 'key' | 'webhook'>;
  readonly secretKey: Buffer;
  readonly clock: Clock;
  readonly isConnected: IsConnected;
}) {
  const { readModels, credentials, secretKey, clock, isConnected } = deps;
  const unsealed = createLruCache<string, string>(10_000);

  /**
   * A credential that has ended takes its registrations along (docs/decisions/webhook-registrations.md): a revoked key, a
   * disconnected app.
   */
  async function whyInactive(webhookId: string): Promise<string | undefined> {
    const webhook = await credentials.webhook(webhookId);
    if (webhook === undefined || webhook.status === 'removed') return 'The registration was removed';
    if (webhook.status === 'disabled') return 'The registration is disabled';
    const { credential, account } = webhook.owner;
    const [kind, id] = splitOnce(credential);
    if (kind === 'client') return (await isConnected(id, account)) ? undefined : 'The app was disconnected';
    if (kind !== 'apiKey') return undefined;
    const key = await credentials.key(id);
    return key === undefined || key.revoked ? 'The API key was revoked' : undefined;
  }

  function secretOf({ webhookId }: WebhookDocument, sealed: string): string {
    const known = unsealed.get(sealed);
    if (known !== undefined) return known;
    const secret = unseal(secretKey, purposes.webhookSecret(webhookId), sealed);
    unsealed.set(sealed, secret);
    return secret;
  }

  return {
    /** The registration, if deliveries may go to it at this moment. */
    async recipient(webhookId: string): Promise<Recipient | Inactive> {
      const inactive = await whyInactive(webhookId);
      if (inactive !== undefined) return { inactive };
      const webhook = (await readModels.collection(webhooks).get(webhookId))?.document;
      // A read model that lags behind the registration: its deliveries wait.
      if (webhook === undefined) throw new Unavailable(`The read model does not show webhook ${webhookId} yet`);
      const { account, url, sealedSecret, previousSealedSecret, previousUntil } = webhook;
      const secret = secretOf(webhook, sealedSecret);
      const overlaps =
        previousSealedSecret !== undefined && previousUntil !== undefined && previousUntil > toTimestamp(clock());
      const secrets: Secrets = overlaps ? [secret, secretOf(webhook, previousSealedSecret)] : [secret];
      return { webhookId: webhook.webhookId, account, url, secrets };
    },

    /**
     * The registrations that get an event (docs/decisions/webhook-registrations.md): those of the community whose space it is
     * and of the brand whose booking or review it is, subscribed to its kind, made before it. Call it once the read models
     * have passed the event.
     */
    async matching(event: Recorded<DeliverableEvent>): Promise<WebhookDocument[]> {
      const { communityId, brandId } = event.data;
      const accounts = [accountKey({ kind: 'Community', id: communityId }), accountKey({ kind: 'Brand', id: brandId })];
      const found: WebhookDocument[] = [];
      for await (const { document } of readModels.collection(webhooks).find(ofAccounts(accounts))) {
        if (subscribes(document, event) && (await whyInactive(document.webhookId)) === undefined) found.push(document);
      }
      return found;
    },

    /** As `matching`, for one registration and from what is known of it. */
    async recipientFor(webhookId: string, event: Recorded<DeliverableEvent>): Promise<WebhookDocument | undefined> {
      const webhook = (await readModels.collection(webhooks).get(webhookId))?.document;
      if (webhook === undefined || !subscribes(webhook, event)) return undefined;
      const { communityId, brandId } = event.data;
      const { kind, id } = webhook.owner;
      return id === (kind === 'Community' ? communityId : brandId) ? webhook : undefined;
    },
  };
}

const subscribes = (webhook: WebhookDocument, { type, position }: Recorded<DeliverableEvent>): boolean =>
  (webhook.events & WEBHOOK_EVENTS[type]) !== 0 && webhook.registeredAt < position;

function splitOnce(credential: string): readonly [kind: string, id: string] {
  const colon = credential.indexOf(':');
  return [credential.slice(0, colon), credential.slice(colon + 1)];
}
