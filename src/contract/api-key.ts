import type { ApiKeyDocument } from '../../projections/api-keys.ts';
import type { Account } from '../domain/account.ts';
import { picked } from '../domain/picked.ts';
import { toPublicAccount } from './account.ts';

/** An API key as the command line prints it with `--json`. */
export const toOperatorApiKey = (key: ApiKeyDocument) => ({
  id: key.apiKeyId,
  account: toPublicAccount(key.owner),
  ...picked(key, ['permissions', 'label', 'preview', 'issuedAt', 'revokedAt']),
});

type Issued = Pick<ApiKeyDocument, 'apiKeyId' | 'permissions' | 'label'> & {
  readonly account: Account;
  readonly key: string;
};

/** The same when it is issued, with the key itself. */
export const toOperatorIssuedApiKey = (issued: Issued) => ({
  id: issued.apiKeyId,
  account: toPublicAccount(issued.account),
  ...picked(issued, ['permissions', 'label', 'key']),
});
