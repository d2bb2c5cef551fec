import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import { MAX_WEBHOOKS, type Webhook } from '../domain/webhook.ts';
import type { Clock } from '../runtime/clock.ts';

/** The registrations of one owner that count towards its limit. */
type QuotaDocument = {
  readonly taken: readonly { readonly webhookId: string; readonly at: Timestamp }[];
};

/** One document per owner, by account and credential. Never deleted: its version must not restart. */
const collection: Collection<QuotaDocument> = { name: 'webhookPlaces', kind: 'record', indexes: [] };

/** How long a registration counts that is not in the log: far longer than an append can take. */
const UNFINISHED_MS = 3_600_000;

/**
 * How many registrations each owner has, counted over all processes (docs/decisions/webhook-deliveries.md). A registration is
 * counted before it is appended. Only when the quota is used up is the log asked which of them still exist: a process may have
 * died before it appended.
 */
export async function openWebhookQuota(deps: {
  readonly documents: DocumentStore;
  /** A registration from the log; undefined if it is not there. */
  readonly load: (webhookId: string) => Promise<Webhook | undefined>;
  /** The registrations of an owner in the read model. Records restored from a copy older than the log lack the latest. */
  readonly known: (owner: WebhookOwner) => Promise<readonly string[]>;
  readonly clock: Clock;
}) {
  const { load, known, clock } = deps;
  const quotas = await deps.documents.open(collection);
  const keyOf = ({ credential, account }: WebhookOwner) => `${accountKey(account)} ${credential}`;

  async function exists({ webhookId, at }: QuotaDocument['taken'][number]): Promise<boolean> {
    const webhook = await load(webhookId);
    return webhook === undefined ? Date.parse(at) > clock() - UNFINISHED_MS : webhook.status !== 'removed';
  }

  return {
    /**
     * Counts a registration that is about to be made, unless there are {@link MAX_WEBHOOKS} already.
     * @returns how many others the owner has
     */
    async take(owner: WebhookOwner, webhookId: WebhookId): Promise<number> {
      let others = 0;
      await quotas.update(keyOf(owner), async (stored) => {
        const at = toTimestamp(clock());
        const counted = stored?.taken ?? [];
        const ids = new Set(counted.map((each) => each.webhookId));
        const uncounted = (await known(owner)).filter((id) => !ids.has(id)).map((id) => ({ webhookId: id, at }));
        let taken = [...counted, ...uncounted];
        if (taken.length >= MAX_WEBHOOKS) {
          const existing = await Promise.all(taken.map(exists));
          taken = taken.filter((_, i) => existing[i]);
        }
        others = taken.length;
        return others >= MAX_WEBHOOKS ? undefined : { taken: [...taken, { webhookId, at }] };
      });
      return others;
    },

    /** Stops counting a registration that was refused or removed. */
    async release(owner: WebhookOwner, webhookId: WebhookId): Promise<void> {
      await quotas.update(keyOf(owner), (stored) => {
        const taken = stored?.taken.filter((each) => each.webhookId !== webhookId) ?? [];
        return taken.length === (stored?.taken.length ?? 0) ? undefined : { taken };
      });
    },
  };
}

export type WebhookQuota = Awaited<ReturnType<typeof openWebhookQuota>>;
