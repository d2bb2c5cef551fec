import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { QueryDeps } from './query-deps.ts';

const oldestOfCredential = declareQuery(
  webhooks,
  (credential: WebhookOwner['credential'], account: AccountKey): Find<WebhookDocument> => ({
    where: { credential, account },
    sort: [{ field: 'createdAt' }],
  }),
  ['apiKey:key_1', 'Brand:1'],
);

/** Registrations of one account, or all of them; by account, oldest first. */
export const webhooksByAccount = declareQuery(
  webhooks,
  (account: AccountKey | undefined): Find<WebhookDocument> => ({
    ...(account !== undefined && { where: { account } }),
    sort: [{ field: 'account' }, { field: 'createdAt' }],
  }),
  [undefined],
  ['Brand:1'],
);

export function createWebhookQueries({ readModels }: QueryDeps) {
  return {
    /** The registrations of one credential acting for one account (docs/decisions/webhook-deliveries.md), oldest first. */
    listOwned: ({ credential, account }: WebhookOwner): Promise<WebhookDocument[]> =>
      readModels.collection(webhooks).list(oldestOfCredential(credential, accountKey(account))),

    /** A registration of the account, or undefined if it has no such registration. */
    async get(account: Account, webhookId: string): Promise<WebhookDocument | undefined> {
      const stored = await readModels.collection(webhooks).get(webhookId);
      return stored?.account === accountKey(account) ? stored : undefined;
    },

    /** Every registration of an account, across its credentials, oldest first. For the console. */
    listOfAccount: (account: Account): Promise<WebhookDocument[]> =>
      readModels.collection(webhooks).list(webhooksByAccount(accountKey(account))),
  };
}
