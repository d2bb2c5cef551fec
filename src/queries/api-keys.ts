import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import { type Account, accountKey } from '../domain/account.ts';
import type { ReadModels } from '../read-models/read-models.ts';

export function createApiKeyQueries({ readModels }: { readonly readModels: ReadModels }) {
  return {
    /** Every key of an account, including revoked ones, newest first. The key itself is not stored. */
    async listOfAccount(account: Account): Promise<ApiKeyDocument[]> {
      const found = readModels.collection(apiKeys).find({
        where: { account: accountKey(account) },
        sort: [{ field: 'issuedAt', direction: 'descending' }],
      });
      return Array.fromAsync(found, ({ document }) => document);
    },
  };
}
