import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import { MAX_WEBHOOKS, type Webhook } from '../domain/webhook.ts';
import type { Clock } from '../runtime/clock.ts';

/** The registrations of one owner that count towards its limit. */
type PlacesDocument = {
  readonly taken: readonly { readonly webhookId: string; readonly at: Timestamp }[];
};

/** One document per owner, by account and credential. It is never deleted: its version must not restart. */
const collection: Collection<PlacesDocument> = { name: 'webhookPlaces', kind: 'record', indexes: [] };

/** How long a place counts whose registration is not in the log: far longer than an append can take. */
const UNFINISHED_MS = 3_600_000;

/**
 * Which registrations an owner has, counted over all processes (docs/decisions/webhook-deliveries.md): a place is taken,
 * compare-and-set, before the registration is appended. Whether one that was counted still exists is asked of the log, and only
 * when no place is left: a process may have died before it appended.
 */
export async function openWebhookPlaces(deps: {
  readonly documents: DocumentStore;
  /** A registration as the log has it; undefined if it is not there. */
  readonly load: (webhookId: string) => Promise<Webhook | undefined>;
  /** The registrations of an owner as the read model shows them: records restored from an older copy than the log lack the latest. */
  readonly known: (owner: WebhookOwner) => Promise<readonly string[]>;
  readonly clock: Clock;
}) {
  const { load, known, clock } = deps;
  const places = await deps.documents.open(collection);
  const keyOf = ({ credential, account }: WebhookOwner) => `${accountKey(account)} ${credential}`;

  async function isStillThere({ webhookId, at }: PlacesDocument['taken'][number]): Promise<boolean> {
    const webhook = await load(webhookId);
    return webhook === undefined ? Date.parse(at) > clock() - UNFINISHED_MS : webhook.status !== 'removed';
  }

  return {
    /**
     * Takes a place for a registration that is about to be made, unless there are {@link MAX_WEBHOOKS} already.
     * @returns how many others the owner has
     */
    async take(owner: WebhookOwner, webhookId: WebhookId): Promise<number> {
      let others = 0;
      await places.update(keyOf(owner), async (stored) => {
        const at = toTimestamp(clock());
        const counted = stored?.taken ?? [];
        const ids = new Set(counted.map((place) => place.webhookId));
        const uncounted = (await known(owner)).filter((id) => !ids.has(id)).map((id) => ({ webhookId: id, at }));
        let taken = [...counted, ...uncounted];
        if (taken.length >= MAX_WEBHOOKS) {
          const there = await Promise.all(taken.map(isStillThere));
          taken = taken.filter((_, i) => there[i]);
        }
        others = taken.length;
        return others >= MAX_WEBHOOKS ? undefined : { taken: [...taken, { webhookId, at }] };
      });
      return others;
    },

    /** Gives a place back: the registration was refused, or removed. */
    async giveBack(owner: WebhookOwner, webhookId: WebhookId): Promise<void> {
      await places.update(keyOf(owner), (stored) => {
        const taken = stored?.taken.filter((place) => place.webhookId !== webhookId) ?? [];
        return taken.length === (stored?.taken.length ?? 0) ? undefined : { taken };
      });
    },
  };
}

export type WebhookPlaces = Awaited<ReturnType<typeof openWebhookPlaces>>;
