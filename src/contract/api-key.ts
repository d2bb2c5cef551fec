import type { ApiKeyDocument } from '../../projections/api-keys.ts';
import type { Account } from '../domain/account.ts';
import type { ApiKeyId } from '../domain/ids.ts';
import { PublicAccount, toPublicAccount } from './account.ts';
import { Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

const terms = {
  id: Type.Unsafe<ApiKeyId>(Type.String({ description: 'Key identifier, key_ followed by characters.' })),
  account: PublicAccount,
  permissions: Type.Integer({ description: 'Sum of permission flags.' }),
  label: Type.String({ description: 'To recognise the key by.' }),
};

/** An API key as an operator sees it: the command line's JSON. */
export const OperatorApiKey = Type.Object({
  ...terms,
  preview: Type.String({ description: 'The first characters of the key.' }),
  issuedAt: Timestamp('When it was issued, UTC.'),
  revokedAt: Type.Optional(Timestamp('When it was revoked, UTC.')),
});

/** The same when it is issued. */
export const OperatorIssuedApiKey = Type.Object({
  ...terms,
  key: Type.String({ description: 'The key itself. Returned only once.' }),
});

const operatorApiKey = shaped(OperatorApiKey);
export const toOperatorApiKey = (key: ApiKeyDocument): Static<typeof OperatorApiKey> =>
  operatorApiKey({ ...key, id: key.apiKeyId, account: toPublicAccount(key.owner) });

type Issued = Pick<ApiKeyDocument, 'apiKeyId' | 'permissions' | 'label'> & {
  readonly account: Account;
  readonly key: string;
};

const operatorIssuedApiKey = shaped(OperatorIssuedApiKey);
export const toOperatorIssuedApiKey = (issued: Issued): Static<typeof OperatorIssuedApiKey> =>
  operatorIssuedApiKey({ ...issued, id: issued.apiKeyId, account: toPublicAccount(issued.account) });
