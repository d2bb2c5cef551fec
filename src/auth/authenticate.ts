import type { Credentials } from '../credentials/credentials.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { apiKeyFormat } from '../secrets/credential-format.ts';
import type { Caller } from './caller.ts';

/** Resolves a bearer token to its caller; undefined if it is not valid (any more). */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/** How many keys are cached so that they need no hashing. */
const CACHED_KEYS = 10_000;

/** Authenticates API keys. Malformed keys are refused without a look-up, revoked ones within 2 s (docs/decisions/credentials.md). */
export function createApiKeyAuthentication(credentials: Pick<Credentials, 'issuedKey' | 'isEnded'>): Authenticate {
  /** The account of a key never changes; its validity is checked each time. */
  const callers = createLruCache<string, Caller>(CACHED_KEYS);

  async function callerOf(token: string): Promise<Caller | undefined> {
    if (!apiKeyFormat.matches(token)) return undefined;
    const key = await credentials.issuedKey(apiKeyFormat.hash(token));
    if (key === undefined) return undefined;
    const { account, permissions, apiKeyId } = key;
    const caller: Caller = { account, permissions, credential: { kind: 'apiKey', id: apiKeyId } };
    callers.set(token, caller);
    return caller;
  }

  return async (token) => {
    const caller = callers.get(token) ?? (await callerOf(token));
    if (caller === undefined || (await credentials.isEnded(caller.credential.id))) return undefined;
    return caller;
  };
}

/** Combines both mechanisms: a token with the prefix of an API key is one, anything else is an access token. */
export const authenticateEither =
  (byApiKey: Authenticate, byAccessToken: Authenticate): Authenticate =>
  (token) =>
    looksLikeApiKey(token) ? byApiKey(token) : byAccessToken(token);

export const looksLikeApiKey = (token: string): boolean => token.startsWith(apiKeyFormat.prefix);

/** The token of `Authorization: Bearer <token>`. The scheme is case-insensitive (RFC 9110). */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  const token = authorization.slice(7).trim();
  return token === '' ? undefined : token;
}
