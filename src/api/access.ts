import type { FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify';
import { type Access, isCheckOld, isOutsideRole, refuseAccess, refuseAmounts } from '../auth/access.ts';
import { type Authenticate, bearerToken } from '../auth/authenticate.ts';
import { actorOf, type Caller, userOf } from '../auth/caller.ts';
import { type IsSuspended, SUSPENDED } from '../auth/suspension.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import { scopesGranting } from '../domain/permissions.ts';
import { traceOf } from '../http/trace.ts';
import { sendError, sendRefusal } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** Set on every route with `config.access`. */
    caller: Caller;
    /** When the caller was checked, by `performance.now()`. */
    checkedAt: number;
  }
}

/** What the events of a request carry of it: who sent it, its id and its trace. */
export const contextOf = (request: FastifyRequest): CommandContext => ({
  actor: actorOf(request.caller),
  userId: userOf(request.caller),
  correlationId: request.id,
  ...traceOf(request),
});

type AuthenticationDeps = {
  readonly authenticate: Authenticate;
  /** The `WWW-Authenticate` challenge of a 401. */
  readonly challenge: string;
};

/** Returns the authenticated caller, or undefined after it has answered 401. */
export function createAuthentication({ authenticate, challenge }: AuthenticationDeps) {
  function sendUnauthenticated(reply: FastifyReply, token: string | undefined): FastifyReply {
    const [header, details] =
      token === undefined
        ? [challenge, 'Send an API key or an access token: Authorization: Bearer <token>.']
        : [
            `${challenge}, error="invalid_token"`,
            'The key or token is malformed, expired, revoked, unknown or not for this API (resource=api).',
          ];
    return sendError(reply.header('www-authenticate', header), 'InvalidApiKey', details);
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<Caller | undefined> => {
    const token = bearerToken(request.headers.authorization);
    const caller = token === undefined ? undefined : await authenticate(token);
    if (caller === undefined) sendUnauthenticated(reply, token);
    request.sender = caller;
    return caller;
  };
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>;

/**
 * The hooks that enforce access to a route: `check` before the request is parsed, with 401, then 403 for a suspended account,
 * then InsufficientPermissions, then ScopeViolation
 * (docs/decisions/rest-api.md), and `checkAgain` once it has its turn. One per route, so that calls need no lookup.
 */
export function createAccessHooks(deps: AuthenticationDeps & { readonly isSuspended: IsSuspended }) {
  const authenticated = createAuthentication(deps);
  return (access: Access): { readonly check: Hook; readonly checkAgain: Hook } => {
    // RFC 6750, 3.1. An API key cannot ask for more, nor an app for more than the role of its user.
    const insufficientScope = `${deps.challenge}, scope="${scopesGranting(access.permission).join(' ')}", error="insufficient_scope"`;
    const check: Hook = async (request, reply) => {
      const checkedAt = performance.now();
      const caller = await authenticated(request, reply);
      if (caller === undefined) return reply;
      if (await deps.isSuspended(caller.account)) return sendRefusal(reply, SUSPENDED);
      const refused = refuseAccess(caller, access);
      if (refused === undefined) {
        request.caller = caller;
        request.checkedAt = checkedAt;
        return undefined;
      }
      const isScope = caller.credential.kind === 'client' && !isOutsideRole(caller, access.permission);
      if (refused.refused === 'InsufficientPermissions' && isScope) reply.header('www-authenticate', insufficientScope);
      return sendRefusal(reply, refused);
    };
    return {
      check,
      checkAgain: async (request, reply) => (isCheckOld(request.checkedAt) ? check(request, reply) : undefined),
    };
  };
}

/** Refuses inputs about amounts from apps of users who do not see them. Runs before the handler of each route with `config.access`. */
export const checkAmounts: preHandlerHookHandler = (request, reply, done) => {
  const refused = refuseAmounts(request.caller, request.query, request.body);
  if (refused === undefined) done();
  else sendRefusal(reply, refused);
};
