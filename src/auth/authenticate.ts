import type { Credentials } from '../credentials/credentials.ts';
import { API_KEY_PREFIX, hashApiKey, isApiKey } from '../secrets/api-key-format.ts';
import type { Caller } from './caller.ts';

/** Answers whose bearer token it is, or undefined when it is nobody's (any more). */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/** Callers by API key: a malformed key is refused without a look-up, a revoked one within 2 s, whatever the read models do. */
export const createApiKeyAuthentication =
  (credentials: Pick<Credentials, 'keyByHash'>): Authenticate =>
  async (token) => {
    if (!isApiKey(token)) return undefined;
    const key = await credentials.keyByHash(hashApiKey(token));
    if (key === undefined || key.revoked) return undefined;
    const { account, permissions, apiKeyId } = key;
    return { account, permissions, credential: { kind: 'apiKey', id: apiKeyId } };
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
