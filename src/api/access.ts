import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { type Access, refuseAccess } from '../auth/access.ts';
import { type Authenticate, bearerToken } from '../auth/authenticate.ts';
import type { Caller } from '../auth/caller.ts';
import { scopesGranting } from '../domain/permissions.ts';
import { sendError, sendRefusal } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** Set on every route with `config.access`. */
    caller: Caller;
  }
}

type AuthenticationDeps = {
  readonly authenticate: Authenticate;
  /** The `WWW-Authenticate` challenge of a 401. */
  readonly challenge: string;
};

/** Calls `then` with the authenticated caller, or answers 401. `failed` gets unexpected errors. */
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

  return (
    request: FastifyRequest,
    reply: FastifyReply,
    then: (caller: Caller) => void,
    failed: (error: Error) => void,
  ): void => {
    const token = bearerToken(request.headers.authorization);
    const enter = (caller: Caller | undefined): void => {
      if (caller === undefined) sendUnauthenticated(reply, token);
      else then(caller);
    };
    const found = token === undefined ? undefined : authenticate(token);
    if (found instanceof Promise) found.then(enter, failed);
    else enter(found);
  };
}

/**
 * The hook that enforces access to a route before the request is parsed: 401, then InsufficientPermissions, then ScopeViolation
 * (docs/decisions/rest-api.md). One per route, so that a call does not look up what its route requires.
 */
export function createAccessHook(deps: AuthenticationDeps) {
  const authenticated = createAuthentication(deps);
  return (access: Access): onRequestHookHandler => {
    // RFC 6750, 3.1. An API key cannot ask for more.
    const insufficientScope = `${deps.challenge}, scope="${scopesGranting(access.permission).join(' ')}", error="insufficient_scope"`;
    return (request, reply, done) =>
      authenticated(
        request,
        reply,
        (caller) => {
          const refused = refuseAccess(caller, access);
          if (refused?.refused === 'InsufficientPermissions' && caller.credential.kind === 'client')
            reply.header('www-authenticate', insufficientScope);
          if (refused !== undefined) return void sendRefusal(reply, refused);
          request.caller = caller;
          done();
        },
        done,
      );
  };
}
