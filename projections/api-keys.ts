import { type Account, type AccountKey, accountKey } from '../src/domain/account.ts';
import type { ApiKeyEvent } from '../src/domain/events.ts';
import type { ApiKeyId, Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

export type ApiKeyDocument = {
  readonly apiKeyId: ApiKeyId;
  readonly owner: Account;
  readonly account: AccountKey;
  /** Sum of permission flags. */
  readonly permissions: number;
  readonly label: string;
  readonly preview: string;
  readonly issuedAt: Timestamp;
  readonly revokedAt?: Timestamp;
};

/** API keys by the SHA-256 of the key, so that authenticating a call takes one look-up. Revoked keys stay. */
export const apiKeys = projection<ApiKeyDocument, ApiKeyEvent>({
  name: 'apiKeys',
  version: 2,
  indexes: [{ fields: ['account', 'issuedAt'] }],
  key: (event) => event.data.hash,
  on: {
    ApiKeyIssued: (_, { data, metadata }) => ({
      apiKeyId: data.apiKeyId,
      owner: data.account,
      account: accountKey(data.account),
      permissions: data.permissions,
      label: data.label,
      preview: data.preview,
      issuedAt: metadata.at,
    }),
    ApiKeyRevoked: (document, { metadata }) => document && { ...document, revokedAt: metadata.at },
  },
});
