import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import type { WebhookCommands } from '../commands/webhooks.ts';
import type { DeliverableEvent } from '../contract/webhook-payload.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey, partiesOf } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Recorded } from '../domain/events.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { gatherCalls } from '../event-loop/gathered-calls.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { purposes } from '../secrets/purposes.ts';
import { unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import type { Secrets } from './send/signature.ts';

/** The URL of a registration and the secrets that sign its deliveries, the current one first. */
export type Recipient = Pick<WebhookDocument, 'webhookId' | 'account' | 'url'> & { readonly secrets: Secrets };

/** A registration that gets no deliveries, and why. */
export type Inactive = { readonly inactive: string };

/** A registration whose deliveries wait, and why. */
export type Waiting = { readonly waiting: string };

/** Whether an OAuth client may act for an account. */
export type IsConnected = (clientId: string, account: Account) => Promise<boolean>;

export type Registrations = ReturnType<typeof createRegistrations>;

const ofAccounts = declareQuery(
  webhooks,
  (accounts: readonly AccountKey[]): Find<WebhookDocument> => ({ where: { account: { in: accounts } } }),
  [['Community:1', 'Brand:1']],
);

/** Which registrations get which events, from the read model. Those whose credential has ended get none, even if the read model lags. */
export function createRegistrations(deps: {
  readonly readModels: ReadModels;
  readonly credentials: Pick<Credentials, 'isEnded' | 'isSuspended'>;
  readonly load: WebhookCommands['load'];
  readonly secretKey: SecretKey;
  readonly clock: Clock;
  readonly isConnected: IsConnected;
}) {
  const { readModels, credentials, load, secretKey, clock, isConnected } = deps;
  const secretsBySeal = createLruCache<string, string>(10_000);

  /**
   * Why a registration gets no deliveries; undefined if it gets them. Registrations end with a revoked key, and rest while no user has
   * their app connected (docs/decisions/webhook-deliveries.md).
   */
  async function inactivity({ webhookId, status, owner, credential }: WebhookDocument): Promise<string | undefined> {
    if (await credentials.isEnded(webhookId)) return REMOVED;
    if (status === 'disabled') return 'The registration is disabled';
    const [kind, id] = splitOnce(credential);
    if (kind === 'client' && !(await isConnected(id, owner))) return 'The app was disconnected';
    if (kind === 'apiKey' && (await credentials.isEnded(id))) return 'The API key was revoked';
    return undefined;
  }

  /**
   * Whether a registration that the read model lacks was removed. The read model may show that before the record does, which is written
   * after the event and read once a second: so the log decides.
   */
  const isRemoved = async (webhookId: string): Promise<boolean> =>
    (await credentials.isEnded(webhookId)) || (await load(webhookId))?.status === 'removed';

  async function find(webhookId: string): Promise<WebhookDocument | undefined> {
    return await readModels.collection(webhooks).get(webhookId);
  }

  /** The subscribers to an event, active or not. Events that are handled at the same time share a read. */
  const subscribersOf = gatherCalls(async (events: readonly Recorded<DeliverableEvent>[]) => {
    const byAccount = new Map<AccountKey, WebhookDocument[]>(
      events.flatMap(accountsOf).map((account) => [account, []]),
    );
    for await (const webhook of readModels.collection(webhooks).find(ofAccounts([...byAccount.keys()])))
      byAccount.get(webhook.account)?.push(webhook);
    const subscribersTo = (event: Recorded<DeliverableEvent>) =>
      accountsOf(event).flatMap((account) => byAccount.get(account)?.filter((each) => subscribes(each, event)) ?? []);
    return new Map(events.map((event) => [event, subscribersTo(event)]));
  });

  function secretOf({ webhookId }: WebhookDocument, sealed: string): string {
    const cached = secretsBySeal.get(sealed);
    if (cached !== undefined) return cached;
    const secret = unseal(secretKey, purposes.webhookSecret(webhookId), sealed);
    secretsBySeal.set(sealed, secret);
    return secret;
  }

  return {
    /** The registration, if it accepts deliveries now. */
    async recipient(webhookId: string): Promise<Recipient | Inactive | Waiting> {
      const webhook = await find(webhookId);
      if (webhook === undefined && (await isRemoved(webhookId))) return { inactive: REMOVED };
      // The read model lags behind the registration, or behind its being enabled: its deliveries wait.
      if (webhook === undefined || (webhook.status === 'disabled' && (await load(webhookId))?.status === 'enabled'))
        throw new Unavailable(`The read model does not show webhook ${webhookId} yet`);
      const inactive = await inactivity(webhook);
      if (inactive !== undefined) return { inactive };
      if (await credentials.isSuspended(webhook.owner))
        return { waiting: 'The brand is suspended, so its deliveries wait' };
      const { account, url, sealedSecret, previousSecrets } = webhook;
      const now = toTimestamp(clock());
      const signing = previousSecrets.filter(({ until }) => until > now);
      const secrets: Secrets = [
        secretOf(webhook, sealedSecret),
        ...signing.map(({ sealed }) => secretOf(webhook, sealed)),
      ];
      return { webhookId: webhook.webhookId, account, url, secrets };
    },

    /**
     * The registrations that get an event (docs/decisions/webhook-deliveries.md): those of the space's community and of the brand that
     * made the booking or review, subscribed to its kind, created before it. Call it once the read models have passed the event.
     */
    async matching(event: Recorded<DeliverableEvent>): Promise<WebhookDocument[]> {
      const recipients: WebhookDocument[] = [];
      for (const webhook of (await subscribersOf(event)) ?? [])
        if ((await inactivity(webhook)) === undefined) recipients.push(webhook);
      return recipients;
    },

    /** The secrets of a registration, active or not: the current one, and those replaced last. */
    async secrets(webhookId: string): Promise<readonly string[]> {
      const webhook = await find(webhookId);
      if (webhook === undefined) return [];
      const sealed = [webhook.sealedSecret, ...webhook.previousSecrets.map((previous) => previous.sealed)];
      return sealed.map((each) => secretOf(webhook, each));
    },

    /** Resolves if registrations can be looked up. */
    async ping(): Promise<void> {
      await readModels.collection(webhooks).get('');
    },

    /** The registration as in the read model, active or not. */
    find,
  };
}

/**
 * Whether a subscriber to an event should have received an earlier event of the same booking. Events while it was disabled do not count;
 * only `recover` sends those.
 */
export const wasDue = (
  webhook: WebhookDocument,
  earlier: Recorded<DeliverableEvent>,
  event: Recorded<DeliverableEvent>,
): boolean =>
  subscribes(webhook, earlier) && (webhook.activeSince < earlier.position || webhook.activeSince > event.position);

/** Whether an event belongs to a registration's account, has a kind that it subscribed to, and happened after its creation. */
export function isMeantFor(event: Recorded<DeliverableEvent>, webhook: WebhookDocument): boolean {
  const { communityId, brandId } = event.data;
  const { kind, id } = webhook.owner;
  return subscribes(webhook, event) && id === (kind === 'Community' ? communityId : brandId);
}

/** The accounts whose registrations may get an event. */
const accountsOf = ({ data }: Recorded<DeliverableEvent>): AccountKey[] => partiesOf(data).map(accountKey);

const subscribes = (webhook: WebhookDocument, { type, position }: Recorded<DeliverableEvent>): boolean =>
  (webhook.events & WEBHOOK_EVENTS[type]) !== 0 && webhook.registeredAt < position;

const REMOVED = 'The registration was removed';

function splitOnce(credential: string): readonly [kind: string, id: string] {
  const colon = credential.indexOf(':');
  return [credential.slice(0, colon), credential.slice(colon + 1)];
}
