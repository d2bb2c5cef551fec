import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import type { QueryDeps } from './query-deps.ts';

/** Those of one account, or all of them; by account, oldest first. */
export const keysByAccount = declareQuery(
  apiKeys,
  (account: AccountKey | undefined): Find<ApiKeyDocument> => ({
    ...(account !== undefined && { where: { account } }),
    sort: [{ field: 'account' }, { field: 'issuedAt' }],
  }),
  [undefined],
  ['Brand:1'],
);

export function createApiKeyQueries({ readModels }: QueryDeps) {
  return {
    /** Every key of an account, including revoked ones, newest first. The key itself is not stored. */
    listOfAccount: async (account: Account): Promise<ApiKeyDocument[]> =>
      (await readModels.collection(apiKeys).list(keysByAccount(accountKey(account)))).toReversed(),
  };
}
