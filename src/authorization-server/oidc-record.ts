import { createHash } from 'node:crypto';
import type { Collection, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';

/**
 * What the authorization server keeps beside clients: sessions, interactions, codes, tokens and grants. The id is a
 * bearer credential for most of them, so only its digest is kept (as the key); the content is sealed.
 */
export type OidcRecord = {
  /** As oidc-provider calls it: `Session`, `Grant`, `RefreshToken`, … */
  readonly model: string;
  readonly sealed: string;
  /** The grant it belongs to, or its own id when it is one. */
  readonly grantId?: string;
  readonly uid?: string;
  readonly userId?: string;
  readonly clientId?: string;
  /** Of a grant: the account that the user chose. */
  readonly account?: AccountKey;
  /** ISO 8601, UTC. A code or refresh token is used once. */
  readonly consumedAt?: string;
  /** The request that used it has been answered. */
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
  ],
};

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
