import type { FastifyReply, FastifyRequest } from 'fastify';
import { apiKeys } from '../../projections/api-keys.ts';
import { sendError } from '../api/errors.ts';
import type { AccountKind } from '../domain/account.ts';
import { allows, type PermissionName } from '../domain/permissions.ts';
import type { ReadModels } from '../projector/read-models.ts';
import { API_KEY_PREFIX, hashApiKey, isApiKey } from './api-key-format.ts';
import type { Caller } from './caller.ts';

/** What a route asks of its caller. */
export type Access = { readonly permission: PermissionName; readonly scope?: AccountKind };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** Set by the authentication hook on every route with `config.access`. */
    caller: Caller;
  }
}

/** Answers whose bearer token it is, or undefined when it is nobody's (any more). */
export type CallerOf = (token: string) => Promise<Caller | undefined>;

/**
 * Callers by API key: one look-up under the key's hash, none for a malformed key. A revoked key stops at once, because
 * nothing is remembered here.
 */
export const createApiKeyCallers =
  (readModels: ReadModels): CallerOf =>
  async (token) => {
    if (!isApiKey(token)) return undefined;
    const found = await readModels.collection(apiKeys).get(hashApiKey(token));
    if (found === undefined || found.document.revokedAt !== undefined) return undefined;
    const { owner, permissions, apiKeyId } = found.document;
    return { account: owner, permissions, credential: { kind: 'apiKey', id: apiKeyId } };
  };

/** Both mechanisms behind one function: what looks like an API key is one, anything else is an access token. */
export const eitherCaller =
  (byApiKey: CallerOf, byAccessToken: CallerOf): CallerOf =>
  (token) =>
    token.startsWith(API_KEY_PREFIX) ? byApiKey(token) : byAccessToken(token);

/** `Authorization: Bearer <token>`; the scheme's case does not matter (RFC 9110). */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  const token = authorization.slice(7).trim();
  return token === '' ? undefined : token;
}

/**
 * The one hook that enforces who may call a route, before anything of the request is parsed: 401, then
 * InsufficientPermissions, then ScopeViolation (DESIGN §6, order of answers).
 */
export function createAccessHook({ callerOf, challenge }: { readonly callerOf: CallerOf; readonly challenge: string }) {
  return async function enforceAccess(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { access } = request.routeOptions.config;
    if (access === undefined) return;
    const token = bearerToken(request.headers.authorization);
    const caller = token === undefined ? undefined : await callerOf(token);
    if (caller === undefined) {
      const [header, details] =
        token === undefined
          ? [challenge, 'Send an API key or an access token: Authorization: Bearer <token>.']
          : [`${challenge}, error="invalid_token"`, 'The key or token is malformed, expired, revoked or unknown.'];
      return sendError(reply.header('www-authenticate', header), 'InvalidApiKey', details);
    }
    if (!allows(caller.permissions, access.permission))
      return sendError(reply, 'InsufficientPermissions', `This call needs the permission ${access.permission}.`);
    if (access.scope !== undefined && caller.account.kind !== access.scope)
      return sendError(reply, 'ScopeViolation', `This call is for ${access.scope} callers only.`);
    request.caller = caller;
  };
}
