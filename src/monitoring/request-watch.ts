import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BaseLogger } from 'pino';
import type { RefusedEarly } from '../api/errors.ts';
import { bearerToken, looksLikeApiKey } from '../auth/authenticate.ts';
import type { Sender } from '../auth/caller.ts';
import { accountKey } from '../domain/account.ts';
import { traceOf } from '../http/trace.ts';
import type { Metrics } from './metrics.ts';

/** A read that takes longer is logged. docs/operations/monitoring.md repeats it. */
const SLOW_MS = 1_000;
/** The status in log and metrics of a request whose client left before the answer began, as nginx has it. */
const CLIENT_LEFT = 499;
/** The route of requests that no route takes. Their paths come from strangers. */
const UNKNOWN = 'unknown';
/** The route of requests that the HTTP server refuses before it looks for one. */
const REFUSED = 'refused';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Outcomes of the sign-in form, by the status of its answer. */
const SIGN_INS: ReadonlyMap<number, string> = new Map([
  [303, 'success'],
  [400, 'expired'],
  [403, 'forged_form'],
  [422, 'wrong_password'],
  [429, 'too_many_attempts'],
]);

/**
 * Counts every request, and logs it once it has ended: changes, and reads that were slow or failed. Paths are logged as patterns, because
 * some hold secrets. What a stranger can cause is logged at level `debug`, so that it cannot fill the disk.
 */
export function createRequestWatch(deps: {
  readonly logger: Pick<BaseLogger, 'info' | 'debug'> & { isLevelEnabled(level: string): boolean };
  readonly metrics: Pick<Metrics, 'request' | 'signIn' | 'refusedCredential'>;
  /** Whether reads that are neither slow nor failed are logged, too. */
  readonly logReads: boolean;
  /** The pattern of the sign-in form. */
  readonly signInForm: string;
  /** The patterns of the POST routes that change nothing. */
  readonly postedReads: ReadonlySet<string>;
}) {
  const { logger, metrics, logReads, signInForm, postedReads } = deps;
  const logsAllReads = logReads || logger.isLevelEnabled('debug');

  /** The level of the line about a request. */
  function levelOf({ isRead, isKnown, isSlow, status }: Facts): 'info' | 'debug' {
    if (status >= 500) return 'info';
    // Slow or not, a stranger can cause it.
    if (!isKnown && status >= 400) return 'debug';
    if (isSlow) return 'info';
    return (isRead ? logReads : isKnown) ? 'info' : 'debug';
  }

  function log(request: FastifyRequest, reply: FastifyReply, ended: Ended): void {
    const { method, route, status, ms } = ended;
    const { sender } = request;
    const isSlow = ms >= SLOW_MS && !isEventStream(reply);
    const level = levelOf({
      isRead: READS.has(method) || postedReads.has(route),
      isKnown: sender !== undefined,
      isSlow,
      status,
    });
    if (!logger.isLevelEnabled(level)) return;
    logger[level](
      { reqId: request.id, ...ended, ...described(sender), ...idFromOutside(request), ...traceOf(request) },
      `${method} ${route} ${status}`,
    );
  }

  function end(request: FastifyRequest, reply: FastifyReply, startedAt: number): void {
    const ms = performance.now() - startedAt;
    const { method } = request;
    const route = request.routeOptions.url ?? UNKNOWN;
    const status = reply.raw.headersSent ? reply.raw.statusCode : CLIENT_LEFT;
    metrics.request({ method, route, status, seconds: ms / 1_000 });
    // Most requests are such, and cost nothing more.
    if (status < 400 && ms < SLOW_MS && READS.has(method) && !logsAllReads) return;
    if (status === 401) metrics.refusedCredential(reasonOf(request, route));
    if (route === signInForm && method === 'POST') metrics.signIn(SIGN_INS.get(status) ?? 'failed');
    log(request, reply, { method, route, status, ms: Math.round(ms * 10) / 10 });
  }

  return {
    begin(request: FastifyRequest, reply: FastifyReply): void {
      const startedAt = performance.now();
      reply.raw.on('close', () => end(request, reply, startedAt));
    },
    /** Of a request that the HTTP server refused: it has no path. */
    refused({ id, method = UNKNOWN, status, reason }: RefusedEarly): void {
      // It is not known when its first byte came.
      metrics.request({ method, route: REFUSED, status, seconds: 0 });
      logger.debug({ reqId: id, method, route: REFUSED, status, reason }, `${method} ${REFUSED} ${status}`);
    },
  };
}

type Ended = { readonly method: string; readonly route: string; readonly status: number; readonly ms: number };
type Facts = { readonly isRead: boolean; readonly isKnown: boolean; readonly isSlow: boolean; readonly status: number };

/** It lasts as long as its page is open. */
const isEventStream = ({ raw }: FastifyReply): boolean =>
  String(raw.getHeader('content-type') ?? '').startsWith('text/event-stream');

/** The id that a proxy or the client gave the request. The log has it beside ours, which alone is unique. */
function idFromOutside({ headers }: FastifyRequest): object {
  const id = headers['x-request-id'];
  return typeof id === 'string' && PLAIN_ID.test(id) ? { clientRequestId: id } : {};
}

const PLAIN_ID = /^[\w.-]{1,64}$/;

function described({ account, credential }: Partial<Sender> = {}): object {
  return {
    ...(account !== undefined && { account: accountKey(account) }),
    ...(credential !== undefined && { credential: `${credential.kind}:${credential.id}` }),
  };
}

/** Which kind of credential a request with the answer 401 lacked, or had without its being valid. */
function reasonOf({ headers: { authorization } }: FastifyRequest, route: string): string {
  if (route.startsWith('/connect/')) return 'client';
  if (route.startsWith('/console')) return 'session';
  const token = bearerToken(authorization);
  if (token === undefined) return 'missing';
  return looksLikeApiKey(token) ? 'api_key' : 'access_token';
}
