import type { Sender } from '../auth/caller.ts';
import { accountOfKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { ACCOUNT_OF_CLIENT } from './clients.ts';
import { accountOfGrant } from './grant-id.ts';
import { PATHS } from './paths.ts';
import { type Answered, hasSignedOut } from './sign-out.ts';

const CALLED_BY_CLIENTS: ReadonlySet<string> = new Set([
  PATHS.token,
  PATHS.revocation,
  PATHS.introspection,
  PATHS.userinfo,
]);

/**
 * Who sent a request, if that is proved: a client by a token or code of its own, or as one that an account has added; a user by the session
 * that the request ended. Anyone can register a client, so its id alone proves nothing.
 */
export function senderOf(ctx: Answered): Sender | undefined {
  const { path, status, oidc } = ctx;
  const userId = oidc?.session?.accountId;
  if (hasSignedOut(ctx) && userId !== undefined) return { credential: { kind: 'user', id: userId } };
  if (!CALLED_BY_CLIENTS.has(path) || status >= 400 || oidc?.client === undefined) return undefined;
  const { client, entities } = oidc;
  const { AccessToken, RefreshToken, ClientCredentials } = entities;
  const { grantId, clientId } = AccessToken ?? RefreshToken ?? ClientCredentials ?? {};
  const added = client[ACCOUNT_OF_CLIENT];
  const isOwn = clientId === client.clientId;
  if (!isOwn && added === undefined) return undefined;
  const key = typeof added === 'string' ? added : accountOfGrant(grantId ?? '');
  return {
    credential: { kind: 'client', id: client.clientId },
    ...defined({ account: accountOfKey(key ?? '') }),
  };
}
