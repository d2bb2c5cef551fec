import { createHmac } from 'node:crypto';
import type { CryptoKey, JWTPayload, JWTVerifyGetKey } from 'jose';
import { type Account, accountOfKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { isRole, ROLE_PERMISSIONS, type Role } from '../domain/roles.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import type { Clock } from '../runtime/clock.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import type { Caller } from './caller.ts';
import { type Audience, permissionsOf } from './scopes.ts';
import { SIGNING_ALGORITHM, type SigningKeys } from './signing-keys.ts';

/** The access token claim that holds the account it is bound to: `Brand:7`. */
export const ACCOUNT_CLAIM = 'account';
/** The claim that holds the role of the token's user in that account: `Viewer`. Without it, the token may do all that its scopes allow. */
export const ROLE_CLAIM = 'role';

/** A valid access token: signed by us, for one of our audiences, neither expired nor revoked. */
export type VerifiedToken = {
  readonly caller: Caller;
  readonly audience: Audience;
  readonly scopes: ReadonlySet<string>;
  readonly clientId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
};

/** The tokens that are issued and not revoked. Implemented by the authorization server. */
export type IssuedTokens = {
  /** Whether a token is still valid. Called on every use. */
  exists(model: TokenModel, id: string): Promise<boolean>;
};

/** What a user may do now. Implemented by the records of users. */
type CurrentRoles = { roleIn(userId: string, account: Account): Promise<Role | undefined> };

/** oidc-provider's models: a user's token, and the token of a client that acts without a user. */
type TokenModel = 'AccessToken' | 'ClientCredentials';

/** Loaded for the first token, to keep the start short. */
const jose = loadOnce(() => import('jose'));

/** How many verified tokens are cached, each until it expires. */
const MAX_CACHED_TOKENS = 10_000;

type Signed = {
  readonly model: TokenModel;
  /** The id of its record. */
  readonly storedId: string;
  /** Absent if the token only identifies the user. */
  readonly verified?: VerifiedToken;
  readonly expiresAt: number;
};

export type AccessTokens = ReturnType<typeof createAccessTokens>;

/**
 * Verifies access tokens against the key set, without calling the authorization server. Every call looks up the token's record and the user's
 * role, so that a revoked token and one of a former role stop working at once in every process (docs/decisions/credentials.md).
 */
export function createAccessTokens(deps: {
  issuer: string;
  signingKeys: SigningKeys;
  issuedTokens: IssuedTokens;
  currentRoles: CurrentRoles;
  secretKey: SecretKey;
  /** The machine's clock, regardless of CLOCK_SHIFT: oidc-provider dates its tokens by it. */
  clock: Clock;
}) {
  const { issuer, signingKeys, issuedTokens, currentRoles, clock } = deps;
  const idOf = storedTokenIds(deps.secretKey);
  const cached = createLruCache<string, Signed>(MAX_CACHED_TOKENS);
  const publicKey = publicKeys(signingKeys);

  /** The claims of a token that was verified before and has not expired. */
  function cachedToken(token: string): Signed | undefined {
    const hit = cached.get(token);
    if (hit === undefined || hit.expiresAt > clock()) return hit;
    cached.delete(token);
    return undefined;
  }

  async function check(token: string): Promise<Signed | undefined> {
    const { errors, jwtVerify } = await jose();
    try {
      const { payload } = await jwtVerify(token, publicKey, {
        issuer,
        audience: ['api', 'mcp'],
        typ: 'at+jwt',
        algorithms: [SIGNING_ALGORITHM],
        requiredClaims: ['exp', 'iat', 'jti', 'sub', 'client_id'],
        currentDate: new Date(clock()),
      });
      const signed = read(payload, idOf);
      if (signed !== undefined) cached.set(token, signed);
      return signed;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  const signedToken = async (token: string): Promise<Signed | undefined> => cachedToken(token) ?? check(token);

  async function verify(token: string): Promise<VerifiedToken | undefined> {
    const signed = await signedToken(token);
    if (signed?.verified === undefined) return undefined;
    const { model, storedId, verified } = signed;
    const isValid = await Promise.all([issuedTokens.exists(model, storedId), hasRoleStill(verified.caller)]);
    return isValid.every(Boolean) ? verified : undefined;
  }

  /** A process that dies between a change of role and the end of the apps leaves tokens of the former role. */
  async function hasRoleStill({ account, role, credential }: Caller): Promise<boolean> {
    const userId = credential.kind === 'client' ? credential.userId : undefined;
    return userId === undefined || (await currentRoles.roleIn(userId, account)) === role;
  }

  return {
    /** @returns undefined for anything but a valid token that is bound to an account */
    verify,

    /** The caller of the REST API, given a valid token with audience `api` (docs/decisions/oauth.md). */
    async authenticate(token: string): Promise<Caller | undefined> {
      const verified = await verify(token);
      return verified?.audience === 'api' ? verified.caller : undefined;
    },

    /** The id under which a token is stored, even if it was revoked; undefined if it is not ours or has expired. */
    storedId: async (token: string): Promise<string | undefined> => (await signedToken(token))?.storedId,
  };
}

/**
 * The ids under which tokens are stored: an HMAC of the `jti`. The `jti` itself would be a credential at the endpoints that
 * accept opaque tokens, and it ends up in logs.
 */
export function storedTokenIds(secretKey: SecretKey): (jti: string) => string {
  const key = derivedKey(secretKey, purposes.storedTokenIds);
  return (jti) => createHmac('sha256', key).update(jti).digest('base64url');
}

/** Finds the service's key with the `kid` of a token's header; nothing else in the header influences the choice. */
function publicKeys(signingKeys: SigningKeys): JWTVerifyGetKey {
  let imported: { readonly id: string; readonly keys: ReadonlyMap<string, CryptoKey | Uint8Array> } | undefined;
  return async ({ kid }) => {
    const { errors, importJWK } = await jose();
    const { id, keys } = await signingKeys.current();
    if (imported?.id !== id) {
      const pairs = keys.map(async (key) => [key.kid, await importJWK(key.publicJwk, SIGNING_ALGORITHM)] as const);
      imported = { id, keys: new Map(await Promise.all(pairs)) };
    }
    const key = kid === undefined ? undefined : imported.keys.get(kid);
    if (key === undefined) throw new errors.JWKSNoMatchingKey();
    return key;
  };
}

function read(payload: JWTPayload, idOf: (jti: string) => string): Signed | undefined {
  const { jti, sub, exp, aud, client_id: clientId, scope = '', [ACCOUNT_CLAIM]: accountClaim } = payload;
  const role = isRole(payload[ROLE_CLAIM]) ? payload[ROLE_CLAIM] : undefined;
  if (jti === undefined || sub === undefined || exp === undefined) return undefined;
  if (typeof clientId !== 'string' || typeof scope !== 'string' || (aud !== 'api' && aud !== 'mcp')) return undefined;
  const ofUser = sub !== clientId;
  const expiresAt = exp * 1000;
  const signed: Signed = { model: ofUser ? 'AccessToken' : 'ClientCredentials', storedId: idOf(jti), expiresAt };
  const account = typeof accountClaim === 'string' ? accountOfKey(accountClaim) : undefined;
  // A user acts in a role, and one that this release does not know allows nothing. A client of the account has none.
  if (account === undefined || ofUser !== (role !== undefined)) return signed;
  const caller: Caller = {
    account,
    permissions: permissionsOf(scope) & ROLE_PERMISSIONS[role ?? 'Manager'],
    ...defined({ role }),
    credential: { kind: 'client', id: clientId, ...defined({ userId: ofUser ? sub : undefined }) },
  };
  return {
    ...signed,
    verified: { caller, audience: aud, scopes: new Set(scope.split(' ')), clientId, expiresAt },
  };
}
