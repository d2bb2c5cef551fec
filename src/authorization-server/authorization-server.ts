import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import type { Logger } from 'pino';
import { type AccessTokens, createAccessTokens } from '../auth/access-tokens.ts';
import { type Resources, resourcesOf } from '../auth/resources.ts';
import { createSigningKeys, type SigningKeys } from '../auth/signing-keys.ts';
import type { MembershipLog } from '../auth/unlogged-changes.ts';
import type { Users } from '../auth/users.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { type Account, accountKey } from '../domain/account.ts';
import type { GuardOptions } from '../outbound/address-guard.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { loadOnce } from '../runtime/load-once.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { openAttemptCounts } from './attempt-counts.ts';
import { type Clients, createClients } from './clients.ts';
import { type ConnectedApps, createConnectedApps } from './connected-apps.ts';
import { type DocumentCopies, openDocumentCopies } from './document-copies.ts';
import { registerInteractions } from './interactions.ts';
import { createOidcAdapter } from './oidc-adapter.ts';
import { PATHS } from './paths.ts';
import { CORS_PREFLIGHT, protectedResourceRoutes } from './protected-resources.ts';
import { createRequestRewriting } from './request-rewriting.ts';
import type { Revocation } from './revocation.ts';
import { createSignInAttempts, networkOf, type SignInLimits } from './sign-in-attempts.ts';
import { sayingUnavailable, sendUnavailable } from './unavailable.ts';

export type AuthorizationServer = {
  /** All paths of the authorization server (docs/specification.md#oauth), including its pages. */
  readonly routes: FastifyPluginAsync;
  /** Signs out the browser that sent the request, without confirmation. Connected apps stay connected. */
  endSession(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Calls `end` with the `Cookie` header of a browser whose user signs out here, for what else was started with the sign-in. */
  onSignOut(end: (cookie: string) => Promise<void>): void;
  readonly resources: Resources;
  readonly accessTokens: AccessTokens;
  readonly clients: Clients;
  readonly connectedApps: ConnectedApps;
  readonly signingKeys: SigningKeys;
};

export type Limits = SignInLimits & {
  /** Registrations per network and hour. */
  readonly registrations: number;
  /** Requests to the authorization and to the sign-out endpoint per IP address and minute; each may write to the store. */
  readonly authorizations: number;
  /** Requests to the token, revocation and introspection endpoints per IP address and minute. */
  readonly tokenRequests: number;
};

const LIMITS: Limits = { perEmail: 10, perNetwork: 50, registrations: 30, authorizations: 300, tokenRequests: 600 };

const MAX_BODY = 64 * 1024;
const HOUR_MS = 60 * 60_000;

/**
 * The OAuth 2.1 / OpenID Connect authorization server: its routes, and what the console, the CLI and the resource servers
 * need from it.
 */
export async function createAuthorizationServer(deps: {
  /** The issuer, and the origin of the REST API and the MCP server. */
  publicUrl: string;
  secretKey: SecretKey;
  documents: DocumentStore;
  revocation: Revocation;
  users: Users;
  log: MembershipLog;
  clock: Clock;
  logger: Pick<Logger, 'error'>;
  /** The display name of an account. */
  accountName?: (account: Account) => Promise<string | undefined>;
  limits?: Partial<Limits>;
  /** The addresses from which client metadata documents may be fetched. Default: public ones only. */
  clientDocuments?: GuardOptions;
}): Promise<AuthorizationServer> {
  const { publicUrl: issuer, secretKey, documents, revocation, users, clock } = deps;
  const limits = { ...LIMITS, ...deps.limits };
  const resources = resourcesOf(issuer);
  const signingKeys = await createSigningKeys({ documents, secretKey, clock });
  // Fails now rather than at the first sign-in if SECRET_KEY is not the one that sealed the keys.
  await signingKeys.check();
  const oidcAdapter = await createOidcAdapter({ documents, revocation, secretKey, clock });
  const clients = await createClients(deps);
  const counts = await openAttemptCounts({ documents, secretKey, clock });
  const attempts = createSignInAttempts({ counts, limits });
  const accessTokens = createAccessTokens({
    issuer,
    signingKeys,
    issuedTokens: oidcAdapter,
    secretKey,
    clock: systemClock(),
  });
  const rewriting = createRequestRewriting({ issuer, resources, accessTokens });

  const endWithSession: ((cookie: string) => Promise<void>)[] = [];
  const signedOut = async (cookie: string) => {
    for (const end of endWithSession) await end(cookie);
  };

  type Built = {
    readonly keys: string;
    readonly provider: Provider;
    readonly handle: ReturnType<Provider['callback']>;
  };
  let built: Built | undefined;
  const copies = await openDocumentCopies({ documents, clock });
  const loadedProvider = loadOnce(() => loadProvider({ allowPrivate: false, ...deps.clientDocuments, copies }));
  /** oidc-provider's keys are fixed at construction, so a changed key set needs a new provider. */
  async function current(): Promise<Built> {
    const keySet = await signingKeys.current();
    const { buildProvider, clientDocument } = await loadedProvider();
    // Checked after the last await, so that concurrent first callers build only one provider.
    if (built?.keys === keySet.id) return built;
    const provider = buildProvider(
      {
        ...{ issuer, secretKey, resources, clientDocument, signedOut },
        ...{ users: sayingUnavailable(users), clients: { ...clients, adapter: sayingUnavailable(clients.adapter) } },
        oidcAdapter: { ...oidcAdapter, adapter: (model) => sayingUnavailable(oidcAdapter.adapter(model)) },
      },
      keySet,
    );
    built = { keys: keySet.id, provider, handle: provider.callback() };
    return built;
  }

  const routes: FastifyPluginAsync = async (app) => {
    // oidc-provider parses bodies itself and answers malformed ones as the standards require.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY }, (_request, body, done) =>
      done(null, body),
    );
    if (!app.hasDecorator('createRateLimit')) await app.register(rateLimit, { global: false });
    app.setErrorHandler((error: { statusCode?: number; message: string }, request, reply) => {
      if (isUnavailable(error)) return sendUnavailable(error, request, reply);
      const status = error.statusCode ?? 500;
      if (status >= 500) request.log.error({ err: error, reqId: request.id }, 'unexpected error');
      const [code, description] =
        status >= 500 ? ['server_error', 'an unexpected error occurred'] : ['invalid_request', error.message];
      return reply.code(status).send({ error: code, error_description: description });
    });

    async function forward(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { provider, handle } = await current();
      if (provider.listenerCount('server_error') === 0)
        provider.on('server_error', (_ctx, error) => app.log.error({ err: error }, 'authorization server error'));
      const rewritten = await rewriting.rewrite({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      });
      // Headers set by hooks (security headers, rate limits) would otherwise be lost with the hijacked reply.
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value);
      await handle(rewritten, reply.raw);
      // Not before: until it is answered, others may have to do it, when its time is up.
      reply.hijack();
    }

    /** Repeats a POST as a GET: session cookies are `SameSite=Lax`, so forms on other sites do not send them. */
    const repeatAsGet = (path: string) => (request: FastifyRequest, reply: FastifyReply) => {
      const body = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
      return reply.redirect(`${path}?${new URLSearchParams(body)}`, 303);
    };

    for (const path of [PATHS.openidConfiguration, PATHS.oauthMetadata, PATHS.jwks])
      app.route({ method: ['GET', 'OPTIONS'], url: path, handler: forward });

    const authorizationLimit = { rateLimit: { max: limits.authorizations, timeWindow: '1 minute' } };
    app.get(PATHS.authorization, { config: authorizationLimit }, forward);
    app.post(PATHS.authorization, repeatAsGet(PATHS.authorization));
    // Not an empty uid: oidc-provider treats a trailing slash as the endpoint itself, which would bypass the limit and rewriting.
    app.get(`${PATHS.authorization}/:uid(^[\\w-]+$)`, forward);

    const tokenLimit = { rateLimit: { max: limits.tokenRequests, timeWindow: '1 minute' } };
    for (const path of [PATHS.token, PATHS.revocation, PATHS.introspection])
      app.route({ method: ['POST', 'OPTIONS'], url: path, config: tokenLimit, handler: forward });
    app.route({ method: ['GET', 'POST', 'OPTIONS'], url: PATHS.userinfo, handler: forward });

    app.get(PATHS.logout, { config: authorizationLimit }, forward);
    app.post(PATHS.logout, repeatAsGet(PATHS.logout));
    app.post(`${PATHS.logout}/confirm`, forward);
    // Where a form has led, and a reload or a bookmark leads again.
    app.get(`${PATHS.logout}/confirm`, (_request, reply) => reply.redirect(PATHS.logout, 303));
    app.get(`${PATHS.logout}/success`, forward);

    const limitRegistrations = async (request: FastifyRequest, reply: FastifyReply) => {
      // Browser apps may register from any origin: no cookies are involved.
      reply.header('access-control-allow-origin', '*');
      const perHour = { max: limits.registrations, windowMs: HOUR_MS };
      const wait = await counts.add(['registration', networkOf(request.ip)], perHour);
      if (wait === 0) return undefined;
      const seconds = Math.ceil(wait / 1_000);
      const error_description = `too many registrations from this address, try again in ${seconds} seconds`;
      return reply.code(429).header('retry-after', seconds).send({ error: 'invalid_request', error_description });
    };
    app.post(PATHS.registration, { onRequest: limitRegistrations }, forward);
    app.options(PATHS.registration, (_request, reply) => reply.code(204).headers(CORS_PREFLIGHT).send());

    protectedResourceRoutes(app, { issuer, resources });
    registerInteractions(app, {
      provider: async () => (await current()).provider,
      secretKey,
      issuer,
      resources,
      users,
      keepClient: (clientId) => Promise.all([clients.keep(clientId), copies.keep(clientId)]),
      accountName: async (account) => (await deps.accountName?.(account)) ?? accountKey(account).replace(':', ' '),
      attempts,
    });
  };

  return {
    routes,
    async endSession({ headers }, { raw }) {
      const { endSession } = await loadedProvider();
      const { provider } = await current();
      // Rewritten, so that cookie attributes follow the issuer's protocol and not a proxy's headers.
      const body = Buffer.alloc(0);
      await endSession(provider, await rewriting.rewrite({ method: 'GET', url: '/', headers, body }), raw);
    },
    onSignOut: (end) => void endWithSession.push(end),
    resources,
    accessTokens,
    clients,
    connectedApps: createConnectedApps({ oidcAdapter, clients, resources, revocation }),
    signingKeys,
  };
}

/** Loads the modules that depend on oidc-provider, on first use. */
async function loadProvider(clientDocuments: GuardOptions & { readonly copies: DocumentCopies }) {
  const { buildProvider, endSession } = await import('./provider.ts');
  const { createClientDocuments } = await import('./client-documents.ts');
  return { buildProvider, endSession, clientDocument: createClientDocuments(clientDocuments) };
}
