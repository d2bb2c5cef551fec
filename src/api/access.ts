import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Access, refuseAccess } from '../auth/access.ts';
import { type Authenticate, bearerToken } from '../auth/authenticate.ts';
import type { Caller } from '../auth/caller.ts';
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

/**
 * The hook that enforces access to a route before the request is parsed: 401, then InsufficientPermissions, then ScopeViolation
 * (docs/decisions/order-of-refusals.md). It is created per route, so that calls need not look up what their route requires.
 */
export function createAccessHook({
  authenticate,
  challenge,
}: {
  readonly authenticate: Authenticate;
  readonly challenge: string;
}) {
  return (access: Access) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const token = bearerToken(request.headers.authorization);
      const caller = token === undefined ? undefined : await authenticate(token);
      if (caller === undefined) {
        const [header, details] =
          token === undefined
            ? [challenge, 'Send an API key or an access token: Authorization: Bearer <token>.']
            : [`${challenge}, error="invalid_token"`, 'The key or token is malformed, expired, revoked or unknown.'];
        return sendError(reply.header('www-authenticate', header), 'InvalidApiKey', details);
      }
      const refused = refuseAccess(caller, access);
      if (refused !== undefined) return sendRefusal(reply, refused);
      request.caller = caller;
      return undefined;
    };
}
