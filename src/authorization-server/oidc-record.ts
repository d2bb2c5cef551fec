import { createHash } from 'node:crypto';
import { UNLOGGED_INDEX, type WithUnlogged } from '../auth/unlogged-changes.ts';
import type { Collection, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';

/**
 * What the authorization server stores besides clients: sessions, interactions, codes, tokens and grants. Most of their ids are
 * bearer credentials, so only a digest of the id is stored, as the key. The content is sealed.
 */
export type OidcRecord = WithUnlogged & {
  /** The oidc-provider model: `Session`, `Grant`, `RefreshToken` and so on. */
  readonly model: string;
  readonly sealed: string;
  /** The grant it belongs to; a grant's own id. */
  readonly grantId?: string;
  readonly uid?: string;
  readonly userId?: string;
  readonly clientId?: string;
  /** Only for grants: the account that the user chose. */
  readonly account?: AccountKey;
  /** ISO 8601, UTC. Codes and refresh tokens can be used once. */
  readonly consumedAt?: string;
  /** Whether the request that consumed it has been answered (docs/decisions/oauth.md). */
  readonly answered?: boolean;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly expiresAt: string;
};

export const OIDC_RECORDS: Collection<OidcRecord> = {
  name: 'oauthArtefacts',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [
    { fields: ['grantId'] },
    { fields: ['uid'] },
    { fields: ['userId'] },
    { fields: ['clientId'] },
    { fields: ['account'] },
    UNLOGGED_INDEX,
  ],
};

/** The model of what was a grant, until the log tells of its end. It does not count as a record of the grant. */
export const ENDED_GRANT = 'EndedGrant';

export const oidcRecordKey = (model: string, id: string) =>
  createHash('sha256').update(`${model} ${id}`).digest('base64url');

/** The records of one grant, user, client or account, or with one `uid`. */
export const withField = declareQuery(
  OIDC_RECORDS,
  (field: 'grantId' | 'uid' | 'userId' | 'clientId' | 'account', value: string): Find<OidcRecord> => ({
    where: { [field]: value },
  }),
  ['grantId', 'x'],
  ['uid', 'x'],
  ['userId', 'x'],
  ['clientId', 'x'],
  ['account', 'Brand:1'],
);
