import type { WebhookDocument } from '../../projections/webhooks.ts';
import type { Collection, DocumentStore, DocumentStoreOperations } from '../document-store/document-store.ts';
import { type AccountKey, accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Refusal } from '../domain/decision.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import { recentRegistrations, type Webhook, webhookQuota } from '../domain/webhook.ts';
import type { Clock } from '../runtime/clock.ts';

/** The registrations that count towards the limits of one account. */
type QuotaDocument = {
  /** Its registrations, including those about to be appended. */
  readonly taken: readonly Taken[];
  /** When the latest were counted, including removed ones. */
  readonly recent: readonly Timestamp[];
};

type Taken = Pick<WebhookDocument, 'webhookId' | 'credential'> & { readonly at: Timestamp };

/** One document per account. Never deleted: its version must not restart. */
const collection: Collection<QuotaDocument> = { name: 'webhookPlaces', kind: 'record', indexes: [] };

/** How long a registration missing from the log counts: far longer than an append can take. */
const UNFINISHED_MS = 3_600_000;

/**
 * Counts each account's registrations and its recent ones across all processes (docs/decisions/webhook-deliveries.md). A registration is
 * counted before it is appended. The log is only read when a quota is used up, because a process may have died before it appended.
 */
export async function openWebhookQuota(deps: {
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  /** A registration from the log; undefined if it is not there. */
  readonly load: (webhookId: string) => Promise<Pick<Webhook, 'status'> | undefined>;
  /** The registrations of an account in the read model. Records restored from a copy older than the log lack the latest. */
  readonly known: (account: AccountKey) => Promise<readonly Pick<WebhookDocument, 'webhookId' | 'credential'>[]>;
  /** The clock if the document store has none of its own: all processes then run on this machine. */
  readonly clock: Clock;
  /** Registrations an account may have. */
  readonly perAccount: number;
}) {
  const { documents, load, known, clock, perAccount } = deps;
  const quotas = await documents.open(collection);

  async function exists({ webhookId, at }: Taken, now: number): Promise<boolean> {
    const webhook = await load(webhookId);
    return webhook === undefined ? Date.parse(at) > now - UNFINISHED_MS : webhook.status !== 'removed';
  }

  return {
    /** Counts a registration that is about to be made. @returns a refusal if there may be none */
    async take({ account: owner, credential }: WebhookOwner, webhookId: WebhookId): Promise<Refusal | undefined> {
      const account = accountKey(owner);
      const now = (await documents.now()) ?? clock();
      const at = toTimestamp(now);
      let refusal: Refusal | undefined;
      await quotas.update(account, async (stored) => {
        const recent = recentRegistrations(stored?.recent.map(Date.parse) ?? [], now);
        const refuseBeside = (taken: readonly Taken[]) => {
          const ofCredential = taken.filter((each) => each.credential === credential).length;
          return webhookQuota({ ofCredential, ofAccount: taken.length, recent }, perAccount, now);
        };
        const counted = stored?.taken ?? [];
        const ids = new Set(counted.map((each) => each.webhookId));
        const uncounted = (await known(account)).filter((each) => !ids.has(each.webhookId));
        let taken = [...counted, ...uncounted.map((each) => ({ ...each, at }))];
        refusal = refuseBeside(taken);
        if (refusal !== undefined && refusal.retryAfter === undefined) {
          const existing = await Promise.all(taken.map((each) => exists(each, now)));
          taken = taken.filter((_, i) => existing[i]);
          refusal = refuseBeside(taken);
        }
        if (refusal !== undefined) return undefined;
        return { taken: [...taken, { webhookId, credential, at }], recent: [...recent.map(toTimestamp), at] };
      });
      return refusal;
    },

    /** Stops counting a registration that was refused or removed towards what the account has. */
    async release({ account }: WebhookOwner, webhookId: WebhookId): Promise<void> {
      await quotas.update(accountKey(account), (stored) => {
        const taken = stored?.taken.filter((each) => each.webhookId !== webhookId) ?? [];
        return stored === undefined || taken.length === stored.taken.length ? undefined : { ...stored, taken };
      });
    },
  };
}

export type WebhookQuota = Awaited<ReturnType<typeof openWebhookQuota>>;
