import { createHash } from 'node:crypto';
import { UNLOGGED_INDEX, type WithUnlogged } from '../auth/unlogged-changes.ts';
import type { Collection, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';

/**
 * Records of the authorization server besides clients: sessions, interactions, codes, tokens and grants. Most of their ids are bearer
 * credentials, so only a digest of the id is stored, as the key. The content is sealed.
 */
export type OidcRecord = WithUnlogged & {
  /** The oidc-provider model: `Session`, `Grant`, `RefreshToken` and so on. */
  readonly model: string;
  readonly sealed: string;
  /** The id of its grant; for a grant, its own id. */
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

/** The model of an ended grant until its event is in the log. It does not count as a grant. */
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
