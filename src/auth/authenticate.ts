import { apiKeys } from '../../projections/api-keys.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { API_KEY_PREFIX, hashApiKey, isApiKey } from '../secrets/api-key-format.ts';
import type { Caller } from './caller.ts';

/** Answers whose bearer token it is, or undefined when it is nobody's (any more). */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/**
 * Callers by API key: one look-up under the key's hash, none for a malformed key. A revoked key stops at once, because
 * nothing is remembered here.
 */
export const createApiKeyAuthentication =
  (readModels: ReadModels): Authenticate =>
  async (token) => {
    if (!isApiKey(token)) return undefined;
    const found = await readModels.collection(apiKeys).get(hashApiKey(token));
    if (found === undefined || found.document.revokedAt !== undefined) return undefined;
    const { owner, permissions, apiKeyId } = found.document;
    return { account: owner, permissions, credential: { kind: 'apiKey', id: apiKeyId } };
  };

/** Both mechanisms behind one function: what looks like an API key is one, anything else is an access token. */
export const authenticateEither =
  (byApiKey: Authenticate, byAccessToken: Authenticate): Authenticate =>
  (token) =>
    token.startsWith(API_KEY_PREFIX) ? byApiKey(token) : byAccessToken(token);

/** `Authorization: Bearer <token>`; the scheme's case does not matter (RFC 9110). */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  const token = authorization.slice(7).trim();
  return token === '' ? undefined : token;
}
