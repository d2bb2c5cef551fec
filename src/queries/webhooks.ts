import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import { type Account, accountKey } from '../domain/account.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { ReadModels } from '../read-models/read-models.ts';

export function createWebhookQueries({ readModels }: { readonly readModels: ReadModels }) {
  return {
    /** The registrations of one credential acting for one account (docs/decisions/webhook-registrations.md), oldest first. */
    async listOwned({ credential, account }: WebhookOwner): Promise<WebhookDocument[]> {
      const where = { credential, account: accountKey(account) };
      const found = readModels.collection(webhooks).find({ where, sort: [{ field: 'createdAt' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },

    /** A registration of the account, or undefined if it has no such registration. */
    async get(account: Account, webhookId: string): Promise<WebhookDocument | undefined> {
      const found = await readModels.collection(webhooks).get(webhookId);
      return found?.document.account === accountKey(account) ? found.document : undefined;
    },

    /** Every registration of an account, whichever credential made it, oldest first. For the console. */
    async listOfAccount(account: Account): Promise<WebhookDocument[]> {
      const where = { account: accountKey(account) };
      const found = readModels.collection(webhooks).find({ where, sort: [{ field: 'createdAt' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },
  };
}
