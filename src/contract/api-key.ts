import type { ApiKeyDocument } from '../../projections/api-keys.ts';
import type { Account } from '../domain/account.ts';
import { toPublicAccount } from './account.ts';

/** An API key as the command line prints it with `--json`. */
export const toOperatorApiKey = (key: ApiKeyDocument) => {
  const { apiKeyId: id, permissions, label, preview, issuedAt, revokedAt } = key;
  return { id, account: toPublicAccount(key.owner), permissions, label, preview, issuedAt, revokedAt };
};

type Issued = Pick<ApiKeyDocument, 'apiKeyId' | 'permissions' | 'label'> & {
  readonly account: Account;
  readonly key: string;
};

/** The same when it is issued, with the key itself. */
export const toOperatorIssuedApiKey = ({ apiKeyId: id, account, permissions, label, key }: Issued) => ({
  id,
  account: toPublicAccount(account),
  permissions,
  label,
  key,
});
