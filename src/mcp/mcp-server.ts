import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { isCheckOld } from '../auth/access.ts';
import type { AccessTokens, VerifiedToken } from '../auth/access-tokens.ts';
import { bearerToken, looksLikeApiKey } from '../auth/authenticate.ts';
import { challengeOf, type Resources, withSlash } from '../auth/resources.ts';
import { MCP_SCOPE } from '../auth/scopes.ts';
import { type IsSuspended, SUSPENDED } from '../auth/suspension.ts';
import { accountKey } from '../domain/account.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import { ANSWERED_WITHIN_MS } from '../http/request-deadline.ts';
import { traceOf } from '../http/trace.ts';
import { createTurns } from '../http/turns.ts';
import { isUnavailable, publicMessageOf, RETRY_AFTER_SECONDS } from '../runtime/unavailable.ts';
import type { ToolDeps } from './tool.ts';

/** As for the REST API. */
const MAX_BODY = 64 * 1024;
/** Concurrent requests per account. Those that wait have not been read. */
const REQUESTS_AT_ONCE = 32;
/** Concurrent messages per account. Further ones wait, those of one batch one after another. */
const MESSAGES_AT_ONCE = 4;
/** Parts of the SDK, each after those that it imports. All at once would hold the thread for 120 ms. */
const PARTS: readonly (() => Promise<unknown>)[] = [
  () => import('zod/v4/core'),
  () => import('zod/v4'),
  () => import('@modelcontextprotocol/core/internal'),
  () => import('@modelcontextprotocol/server/_shims'),
  () => import('@modelcontextprotocol/server'),
];

/**
 * The MCP server at /mcp: Streamable HTTP, protocol revision 2026-07-28 (stateless) and earlier ones (docs/guides/mcp.md).
 * OAuth only (docs/guides/rest-api.md#api-keys): audience `mcp`, scope `service.mcp`.
 */
export function mcpRoutes(deps: {
  tools: ToolDeps;
  accessTokens: AccessTokens;
  isSuspended: IsSuspended;
  resources: Resources;
  version: string;
}): FastifyPluginAsync {
  const { tools, accessTokens, isSuspended, resources, version } = deps;
  const url = resources.mcp.uri;
  const path = new URL(url).pathname;
  const hostnames = [new URL(url).hostname, 'localhost', '127.0.0.1', '[::1]'];
  /** The first request loads the SDK and the tools, to keep the startup short. */
  const handler = loadOnce(async () => {
    for (const load of PARTS) {
      await load();
      await nextTurn();
    }
    return (await import('./mcp-handler.ts')).createHandler({ tools, version, hostnames });
  });

  function refuse(reply: FastifyReply, status: 401 | 403, error: string | undefined, description: string) {
    const resource = reply.request.routeOptions.url === path ? resources.mcp : withSlash(resources.mcp);
    const challenge = challengeOf(resource, MCP_SCOPE);
    return reply
      .code(status)
      .header('www-authenticate', error === undefined ? challenge : `${challenge}, error="${error}"`)
      .send({ error: error ?? 'invalid_token', error_description: description });
  }

  // No challenge: another token of the account would not help.
  const refuseSuspended = (reply: FastifyReply): FastifyReply =>
    reply.code(403).send({ error: 'access_denied', error_description: SUSPENDED.details });

  const requests = createTurns(REQUESTS_AT_ONCE);
  const turns = createTurns(MESSAGES_AT_ONCE);

  return async (app) => {
    // Refuses DNS rebinding before anything else: a page that makes a browser call us under another host name.
    app.addHook('onRequest', async (request, reply) => {
      const forbidden = (await handler()).whyForbidden(request.headers);
      if (forbidden !== undefined) return reply.code(403).send({ error: 'forbidden', error_description: forbidden });
      if (request.headers.origin !== undefined) reply.headers(corsHeaders(request.headers.origin));
      return undefined;
    });
    // The SDK parses messages and answers malformed ones as the protocol requires.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY }, (_request, body, done) =>
      done(null, body),
    );
    app.setErrorHandler((error: { statusCode?: number; message: string }, request, reply) => {
      // An event stream that failed before its first byte has set its own type.
      reply.type('application/json; charset=utf-8');
      if (isUnavailable(error)) {
        request.log.warn({ err: error, reqId: request.id }, 'unavailable');
        reply.code(503).header('retry-after', RETRY_AFTER_SECONDS);
        return reply.send({ error: 'temporarily_unavailable', error_description: publicMessageOf(error) });
      }
      const status = error.statusCode ?? 500;
      if (status >= 500) request.log.error({ err: error, reqId: request.id }, 'unexpected error');
      const description = status >= 500 ? `An unexpected error occurred (request ${request.id}).` : error.message;
      return reply.code(status).send({ error: 'invalid_request', error_description: description });
    });
    app.decorateRequest('mcpToken', null);
    app.decorateRequest('mcpTokenCheckedAt', 0);
    const checkToken = async (request: FastifyRequest, reply: FastifyReply) => {
      const token = bearerToken(request.headers.authorization);
      if (token === undefined)
        return refuse(reply, 401, undefined, 'Send an access token: Authorization: Bearer <token>.');
      if (looksLikeApiKey(token))
        return refuse(
          reply,
          401,
          'invalid_token',
          'API keys work for the REST API only. The MCP server requires an OAuth access token.',
        );
      request.mcpTokenCheckedAt = performance.now();
      const verified = await accessTokens.verify(token);
      if (verified === undefined) return refuse(reply, 401, 'invalid_token', INVALID);
      if (verified.audience !== 'mcp')
        return refuse(reply, 401, 'invalid_token', 'The token is for another audience. Request one with resource=mcp.');
      if (!verified.scopes.has(MCP_SCOPE))
        return refuse(reply, 403, 'insufficient_scope', `The token lacks the scope ${MCP_SCOPE}.`);
      if (await isSuspended(verified.caller.account)) return refuseSuspended(reply);
      request.mcpToken = verified;
      request.sender = verified.caller;
      if (request.method === 'POST') await requests.take(accountKey(verified.caller.account), reply.raw);
      return undefined;
    };

    /** Why the request may not go on, if it or a message of it has waited since its token was checked. */
    async function lostRight(request: FastifyRequest): Promise<((reply: FastifyReply) => FastifyReply) | undefined> {
      if (!isCheckOld(request.mcpTokenCheckedAt)) return undefined;
      request.mcpTokenCheckedAt = performance.now();
      const verified = await accessTokens.verify(bearerToken(request.headers.authorization) ?? '');
      if (verified === undefined) return (reply) => refuse(reply, 401, 'invalid_token', INVALID);
      return (await isSuspended(verified.caller.account)) ? refuseSuspended : undefined;
    }

    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      const { mcpToken } = request;
      if (mcpToken === null) throw new Error('The MCP request has no token');
      const { caller } = mcpToken;
      const answered = await (await handler()).answer(webRequest(request, reply, url), {
        token: mcpToken,
        correlationId: request.id,
        trace: traceOf(request),
        isDisconnected: () => reply.raw.destroyed,
        async takeTurn() {
          const end = await turns.take(accountKey(caller.account), reply.raw);
          const refuseNow = end && (await lostRight(request));
          if (end !== undefined && refuseNow !== undefined) {
            // In a batch, an earlier message may have been answered; then the answers end here.
            if (!reply.sent) refuseNow(reply);
            end();
            return undefined;
          }
          const answerBy = Math.min(request.answerBy, performance.now() + ANSWERED_WITHIN_MS);
          // From here on the tool keeps the deadline itself: the SDK begins its event stream at once, so a 503 would come too late.
          request.answerBy = Number.POSITIVE_INFINITY;
          return end && { end, answerBy };
        },
      });
      if (answered === undefined) return reply;
      return reply.send(request.method === 'HEAD' ? await withoutBody(answered) : answered);
    };
    for (const url of [path, `${path}/`]) {
      const answerPreflight = async (_request: FastifyRequest, reply: FastifyReply) => reply.code(204).send();
      app.options(url, { onRequest: answerPreflight, handler: answerPreflight });
      app.route({ method: ['GET', 'HEAD', 'POST', 'DELETE'], url, onRequest: checkToken, handler: answer });
    }
    app.addHook('preClose', async () => (await handler.loaded())?.close());
  };
}

const INVALID = 'The token is malformed, expired, revoked or unknown.';

async function withoutBody({ body, status, headers }: Response): Promise<Response> {
  await body?.cancel();
  return new Response(null, { status, headers });
}

/** For clients in a browser. Allowing an origin grants nothing by itself, because the credential is a header. */
const corsHeaders = (origin: string) => ({
  vary: 'Origin',
  'access-control-allow-origin': origin,
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name',
  'access-control-expose-headers': 'www-authenticate, mcp-session-id, mcp-protocol-version',
  'access-control-max-age': '3600',
});

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every authenticated request to the MCP server. */
    mcpToken: VerifiedToken | null;
    /** When its token was checked, by `performance.now()`. */
    mcpTokenCheckedAt: number;
  }
}

function webRequest(request: FastifyRequest, reply: FastifyReply, url: string): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  const disconnected = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) disconnected.abort();
  });
  const { body, method } = request;
  return new Request(url, {
    // The SDK does not know HEAD, whose answer is that of GET without its body.
    method: method === 'HEAD' ? 'GET' : method,
    headers,
    signal: disconnected.signal,
    body: Buffer.isBuffer(body) ? new Uint8Array(body) : null,
  });
}
