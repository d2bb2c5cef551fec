import type { WebhookDocument } from '../../projections/webhooks.ts';
import type { DocumentStore, DocumentStoreOperations } from '../document-store/document-store.ts';
import { type AccountKey, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { WebhookId } from '../domain/ids.ts';
import { type Webhook, webhookQuota } from '../domain/webhook.ts';
import { eachOf, openAccountQuota } from '../quotas/account-quota.ts';
import type { Clock } from '../runtime/clock.ts';

type Registration = Pick<WebhookDocument, 'webhookId' | 'credential'>;

/** Counts each account's registrations and its recent ones (docs/decisions/webhook-deliveries.md). */
export async function openWebhookQuota(deps: {
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  /** A registration from the log; undefined if it is not there. */
  readonly load: (webhookId: string) => Promise<Pick<Webhook, 'status'> | undefined>;
  /** The registrations of an account in the read model. */
  readonly existing: (account: AccountKey) => Promise<readonly Registration[]>;
  /** The clock if the document store has none of its own: all processes then run on this machine. */
  readonly clock: Clock;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic?: () => number;
  /** Registrations an account may have. */
  readonly perAccount: number;
}) {
  const { documents, load, existing, clock, monotonic, perAccount } = deps;
  const quota = await openAccountQuota<Registration>({
    documents,
    collection: { name: 'webhookQuotas', kind: 'record', indexes: [] },
    idOf: ({ webhookId }) => webhookId,
    exist: eachOf(async ({ webhookId }) => {
      const webhook = await load(webhookId);
      return webhook && webhook.status !== 'removed';
    }),
    existing,
    monotonic,
  });

  return {
    /** Counts a registration that is about to be made. @returns a refusal if there may be none */
    async take({ account, credential }: WebhookOwner, webhookId: WebhookId): Promise<Refusal | undefined> {
      const now = (await documents.now()) ?? clock();
      const reserved = await quota.take(
        accountKey(account),
        () => ({ webhookId, credential }),
        ({ items: others, recent }) => {
          const ofCredential = others.filter((each) => each.credential === credential).length;
          return webhookQuota({ ofCredential, ofAccount: others.length, recent }, perAccount, now);
        },
        now,
      );
      return isRefusal(reserved) ? reserved : undefined;
    },

    /** Stops counting a registration that was refused or removed towards what the account has. */
    release: ({ account }: WebhookOwner, webhookId: WebhookId): Promise<void> =>
      quota.release(accountKey(account), webhookId),
  };
}

export type WebhookQuota = Awaited<ReturnType<typeof openWebhookQuota>>;
