import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import type { QueryDeps } from './query-deps.ts';

const newestOf = declareQuery(
  apiKeys,
  (account: AccountKey): Find<ApiKeyDocument> => ({
    where: { account },
    sort: [{ field: 'issuedAt', direction: 'descending' }],
  }),
  ['Brand:1'],
);

export function createApiKeyQueries({ readModels }: QueryDeps) {
  return {
    /** Every key of an account, including revoked ones, newest first. The key itself is not stored. */
    listOfAccount: (account: Account): Promise<ApiKeyDocument[]> =>
      readModels.collection(apiKeys).list(newestOf(accountKey(account))),
  };
}
