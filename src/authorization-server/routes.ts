import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import { networkOf } from '../auth/networks.ts';
import { copyHeaders } from '../http/copy-headers.ts';
import { isLoopbackHost } from '../http/loopback.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { allowedText } from './allowed-text.ts';
import type { AttemptCounts } from './attempt-counts.ts';
import { type PageDeps, registerInteractions } from './interactions.ts';
import { PATHS } from './paths.ts';
import { answerPreflights, protectedResourceRoutes } from './protected-resources.ts';
import { requestContext, runAsRequest } from './request-context.ts';
import type { RewriteRequest } from './request-rewriting.ts';
import type { SignInLimits } from './sign-in-attempts.ts';
import { sendUnavailable } from './unavailable.ts';

export type Limits = SignInLimits & {
  /** Registrations per network and hour. */
  readonly registrations: number;
  /** Requests to the authorization and to the sign-out endpoint per network and minute; each may write to the store. */
  readonly authorizations: number;
  /** Client metadata documents fetched from one host per minute, by all processes. */
  readonly documentFetches: number;
  /** POST requests to each of the token, userinfo, revocation and introspection endpoints per network and minute. */
  readonly tokenRequests: number;
  /** Confidential clients an account may have. */
  readonly clientsPerAccount: number;
};

/** The current oidc-provider and its request handler. */
export type CurrentProvider = {
  readonly provider: Provider;
  readonly handle: ReturnType<Provider['callback']>;
};

type Deps = PageDeps & {
  readonly limits: Limits;
  readonly isLocal: boolean;
  readonly counts: AttemptCounts;
  readonly rewrite: RewriteRequest;
  readonly current: () => Promise<CurrentProvider>;
};

/** The endpoints that apps in a browser may call. They lead the browser itself to the others. */
const CALLED_BY_SCRIPTS: readonly string[] = [
  PATHS.openidConfiguration,
  PATHS.oauthMetadata,
  PATHS.jwks,
  PATHS.token,
  PATHS.revocation,
  PATHS.introspection,
  PATHS.userinfo,
  PATHS.registration,
];

const MAX_BODY = 64 * 1024;
const HOUR_MS = 60 * 60_000;

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** All paths of the authorization server (docs/guides/oauth.md), including its pages. */
export const authorizationRoutes =
  (deps: Deps): FastifyPluginAsync =>
  async (app) => {
    // oidc-provider parses bodies itself and answers malformed ones as the standards require.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY }, (_request, body, done) =>
      done(null, body),
    );
    if (!app.hasDecorator('createRateLimit')) await app.register(rateLimit, { global: false });
    app.setErrorHandler(sendError);
    // After the body has been read, because callbacks of its stream lose the context.
    app.addHook('preValidation', (request, _reply, done) => runAsRequest(request, done));

    const forward: Handler = (request, reply) => forwardTo(deps, app, request, reply);
    for (const path of [PATHS.openidConfiguration, PATHS.oauthMetadata, PATHS.jwks]) app.get(path, forward);
    addBrowserRoutes(app, forward, deps.limits.authorizations);

    const tokenLimit = { rateLimit: { max: deps.limits.tokenRequests, timeWindow: '1 minute' } };
    for (const path of [PATHS.token, PATHS.revocation, PATHS.introspection])
      app.post(path, { config: tokenLimit }, forward);
    app.get(PATHS.userinfo, forward);
    app.post(PATHS.userinfo, { config: tokenLimit }, forward);

    app.post(PATHS.registration, { onRequest: limitRegistrations(deps) }, forward);
    answerPreflights(app, CALLED_BY_SCRIPTS);
    protectedResourceRoutes(app, { issuer: deps.issuer, resources: deps.resources });
    registerInteractions(app, {
      ...deps,
      perMinute: deps.limits.authorizations,
      provider: async () => (await deps.current()).provider,
    });
  };

const UID = /^[\w-]+$/;

/** The endpoints to which apps send the user's browser. */
function addBrowserRoutes(app: FastifyInstance, forward: Handler, perMinute: number): void {
  const config = { rateLimit: { max: perMinute, timeWindow: '1 minute' } };
  app.get(PATHS.authorization, { config }, forward);
  app.post(PATHS.authorization, { config }, repeatAsGet(PATHS.authorization));
  // oidc-provider treats a trailing slash as the endpoint itself, which would bypass limit and rewriting. The pattern of the route does not
  // say so, because logs and metrics show it.
  app.get<{ Params: { uid: string } }>(`${PATHS.authorization}/:uid`, (request, reply) =>
    UID.test(request.params.uid) ? forward(request, reply) : reply.callNotFound(),
  );

  app.get(PATHS.logout, { config }, forward);
  app.post(PATHS.logout, { config }, repeatAsGet(PATHS.logout));
  app.post(`${PATHS.logout}/confirm`, { config }, forward);
  // Handles a reload or bookmark of the page that the form leads to.
  app.get(`${PATHS.logout}/confirm`, (_request, reply) => reply.redirect(PATHS.logout, 303));
  app.get(`${PATHS.logout}/success`, forward);
}

function sendError(error: { statusCode?: number; message: string }, request: FastifyRequest, reply: FastifyReply) {
  if (isUnavailable(error)) return sendUnavailable(error, request, reply);
  const status = error.statusCode ?? 500;
  if (status === 429) return sendTooMany(reply, error.message);
  if (status >= 500) request.log.error({ err: error, reqId: request.id }, 'unexpected error');
  const [code, description] =
    status >= 500 ? ['server_error', 'an unexpected error occurred'] : ['invalid_request', error.message];
  return reply.code(status).send({ error: code, error_description: allowedText(description) });
}

/** Too many requests are no fault of a request: `invalid_request` would tell a library not to repeat it. Scripts may read when to. */
const sendTooMany = (reply: FastifyReply, description: string) =>
  reply
    .code(429)
    .headers({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' })
    .send({ error: 'temporarily_unavailable', error_description: allowedText(description) });

async function forwardTo(
  { current, rewrite }: Deps,
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { provider, handle } = await current();
  if (provider.listenerCount('server_error') === 0)
    provider.on('server_error', (_ctx, error) =>
      app.log.error({ err: error, reqId: requestContext().correlationId }, 'authorization server error'),
    );
  const rewritten = await rewrite({
    method: request.method,
    url: request.url,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  });
  copyHeaders(reply);
  await handle(rewritten, reply.raw);
  // Not earlier, so that the request deadline can still answer a request that takes too long.
  reply.hijack();
}

/** Repeats a POST as a GET: session cookies are `SameSite=Lax`, so forms on other sites do not send them. */
const repeatAsGet = (path: string) => (request: FastifyRequest, reply: FastifyReply) => {
  const body = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
  return reply.redirect(`${path}?${new URLSearchParams(body)}`, 303);
};

const limitRegistrations =
  ({ counts, limits, isLocal }: Deps) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    // Browser apps may register from any origin: no cookies are involved.
    reply.header('access-control-allow-origin', '*');
    if (isLocal && isLoopbackHost(request.ip)) return undefined;
    const perHour = { max: limits.registrations, windowMs: HOUR_MS };
    const wait = await counts.add(['registration', networkOf(request.ip)], perHour);
    if (wait === 0) return undefined;
    const seconds = Math.ceil(wait / 1_000);
    const error_description = `too many registrations from this address, try again in ${seconds} seconds`;
    return sendTooMany(reply.header('retry-after', seconds), error_description);
  };
