import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import { type Account, accountKey } from '../domain/account.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { ReadModels } from '../projector/read-models.ts';

export function createWebhookQueries({ readModels }: { readonly readModels: ReadModels }) {
  return {
    /** The registrations of one credential acting for one account (SPEC: GET /webhooks), oldest first. */
    async listOwned({ credential, account }: WebhookOwner): Promise<WebhookDocument[]> {
      const where = { credential, account: accountKey(account) };
      const found = readModels.collection(webhooks).find({ where, sort: [{ field: 'createdAt' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },

    /** Every registration of an account, whichever credential made it (the console), oldest first. */
    async listOfAccount(account: Account): Promise<WebhookDocument[]> {
      const where = { account: accountKey(account) };
      const found = readModels.collection(webhooks).find({ where, sort: [{ field: 'createdAt' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },
  };
}
