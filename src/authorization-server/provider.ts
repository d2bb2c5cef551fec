import type { IncomingMessage, ServerResponse } from 'node:http';
import Provider, {
  type AccessToken,
  type ClientCredentials,
  type ClientMetadata,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type Account as OidcAccount,
} from 'oidc-provider';
import { ACCOUNT_CLAIM, ROLE_CLAIM, storedTokenIds } from '../auth/access-tokens.ts';
import type { Resources } from '../auth/resources.ts';
import { SCOPES } from '../auth/scopes.ts';
import { type KeySet, SIGNING_ALGORITHM } from '../auth/signing-keys.ts';
import type { IsSuspended } from '../auth/suspension.ts';
import type { Users } from '../auth/users.ts';
import { accountKey } from '../domain/account.ts';
import { pageHeaders } from '../html/layout.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import { keysIn, type SecretKey } from '../secrets/secret-key.ts';
import { type IsAllowed, rewriteAnswer } from './answer-rewriting.ts';
import { completeAuthorization, type RequestingClient } from './authorization-request.ts';
import { eachDocumentOnce } from './client-documents.ts';
import { ACCOUNT_OF_CLIENT, type Clients } from './clients.ts';
import { CONSOLE_CALLBACK_PATH, CONSOLE_CLIENT_ID } from './console-client.ts';
import { featuresOf, refuseUnfitScopes } from './features.ts';
import { accountOfGrant, newGrantId } from './grant-id.ts';
import type { OidcAdapter } from './oidc-adapter.ts';
import { COOKIE } from './oidc-provider.ts';
import { errorPage } from './pages.ts';
import { PATHS } from './paths.ts';
import { CLIENT_AUTH_METHODS } from './reduced-metadata.ts';
import { deriveSuccessors } from './refresh-successors.ts';
import { applyRegistrationRules, completeScope } from './registration.ts';
import { noteSender } from './request-context.ts';
import { senderOf } from './request-sender.ts';
import { answerSignOutOfNobody, hasOwnHint, hasSignedOut, refuseHint } from './sign-out.ts';
import { denySuspended, isOfSuspended } from './suspended-account.ts';

// In seconds, the unit of oidc-provider's lifetimes.
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Longer than the refresh tokens issued under it, with a margin for a wrong clock. */
const GRANT = 365 * DAY;

export type ProviderDeps = {
  readonly issuer: string;
  readonly secretKey: SecretKey;
  readonly resources: Resources;
  readonly users: Users;
  readonly isSuspended: IsSuspended;
  readonly clients: Clients;
  readonly oidcAdapter: OidcAdapter;
  /** Fetches the metadata document that a client publishes at its id. */
  readonly clientDocument: (url: string) => Promise<Response>;
  readonly isAllowed: IsAllowed;
  /** Called with the `Cookie` header when a user has signed out, before the answer is sent. */
  readonly signedOut: (cookie: string) => Promise<void>;
};

/**
 * oidc-provider, configured for docs/guides/oauth.md. It keeps no state between requests, so any process can answer the next one.
 */
export function buildProvider(deps: ProviderDeps, keySet: KeySet): Provider {
  const { issuer, secretKey, resources, clients, oidcAdapter, clientDocument, isSuspended } = deps;
  const provider = new Provider(issuer, {
    adapter: (model) => (model === 'Client' ? clients.adapter : oidcAdapter.adapter(model)),
    jwks: { keys: keySet.keys.map(({ privateJwk }) => privateJwk) },
    enabledJWA: {
      idTokenSigningAlgValues: [SIGNING_ALGORITHM],
      userinfoSigningAlgValues: [SIGNING_ALGORITHM],
    },
    routes: ROUTES,
    ttl: LIFETIMES,
    // Apps stay connected when the user signs out: that is what `offline_access` means.
    expiresWithSession: () => false,
    rotateRefreshToken: (ctx) => checkRefresh(ctx, resources),
    pkce: { required: () => true },
    responseTypes: ['code'],
    scopes: SCOPES,
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username', 'updated_at'],
      email: ['email', 'email_verified'],
    },
    // Clients that never call userinfo read these claims from the ID token.
    conformIdTokenClaims: false,
    clientAuthMethods: CLIENT_AUTH_METHODS,
    clientBasedCORS,
    clients: [consoleClient(issuer)],
    extraClientMetadata: {
      properties: [ACCOUNT_OF_CLIENT],
      validator(ctx, _key, _value, metadata) {
        // Also called for stored and static clients, without a request.
        if (ctx?.oidc?.route === 'registration') applyRegistrationRules(metadata);
        completeScope(metadata);
      },
    },
    cookies: cookiesOf(secretKey),
    interactions: { url: (_ctx, { uid }) => `${PATHS.interaction}/${uid}` },
    renderError(ctx, out) {
      ctx.type = 'html';
      ctx.body = errorPage(`${out.error_description ?? out.error}.`);
    },
    findAccount: (_ctx, sub, token) => findAccount(deps, sub, token?.grantId),
    loadExistingGrant: (ctx) => loadExistingGrant(ctx, isSuspended),
    extraTokenClaims: (ctx, token) => extraTokenClaims(ctx, token, isSuspended),
    formats: { customizers: { jwt: storeJwt(oidcAdapter, storedTokenIds(secretKey)) } },
    features: featuresOf(resources, isSuspended),
    discovery: {
      service_documentation: `${issuer}/docs`,
      // Without these, clients assume `client_secret_basic` alone (RFC 8414).
      revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
      introspection_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
    },
    // Only client metadata documents are fetched: registration drops every other URL.
    fetch: (url) => clientDocument(String(url)),
  });
  deriveSuccessors(provider, secretKey);
  // Trusts the forwarding headers, which request-rewriting.ts sets to the issuer's host and protocol.
  provider.proxy = true;
  provider.use((_ctx, next) => eachDocumentOnce(next));
  provider.use((ctx, next) => handle(ctx, next, provider, deps, keySet));
  return provider;
}

const ROUTES: Configuration['routes'] = {
  authorization: PATHS.authorization,
  token: PATHS.token,
  registration: PATHS.registration,
  userinfo: PATHS.userinfo,
  revocation: PATHS.revocation,
  introspection: PATHS.introspection,
  end_session: PATHS.logout,
  jwks: PATHS.jwks,
};

/** docs/guides/rest-api.md#limits. Plain numbers, because the default functions shorten some refresh tokens on rotation. */
const LIFETIMES: Configuration['ttl'] = {
  AccessToken: HOUR,
  ClientCredentials: HOUR,
  AuthorizationCode: 5 * MINUTE,
  RefreshToken: 30 * DAY,
  IdToken: HOUR,
  Interaction: 30 * MINUTE,
  Session: 14 * DAY,
  // Counts from the last refresh (docs/decisions/oauth.md).
  Grant: (_ctx, { clientId }) => (clientId === CONSOLE_CLIENT_ID ? 14 * DAY : GRANT),
};

/** Checked before the token is consumed: a mistake in the request must not cost the client its grant. */
function checkRefresh({ oidc }: KoaContextWithOIDC, resources: Resources): true {
  const { resource, scope } = oidc.params ?? {};
  const granted = oidc.entities.RefreshToken?.resource;
  // Without a resource, only the grant's own can be meant (RFC 8707, 2.2).
  if (resource !== undefined && resource !== granted) throw new errors.InvalidTarget();
  const named = resources.named(String(granted));
  if (scope !== undefined && named !== undefined) refuseUnfitScopes(oidc.params, named);
  return true;
}

const consoleClient = (issuer: string): ClientMetadata => ({
  client_id: CONSOLE_CLIENT_ID,
  client_name: 'Venue Booking console',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code'],
  response_types: ['code'],
  redirect_uris: [`${issuer}${CONSOLE_CALLBACK_PATH}`],
  post_logout_redirect_uris: [`${issuer}/console`, `${issuer}/`],
});

const cookiesOf = (secretKey: SecretKey): Configuration['cookies'] => ({
  // The first one signs, all of them verify.
  keys: keysIn(secretKey).map((key) => derivedKey(key, purposes.oidcCookies).toString('base64url')),
  names: { session: 'venue_session', interaction: 'venue_interaction', resume: 'venue_resume' },
  long: COOKIE,
  short: COOKIE,
});

async function findAccount(
  { users, isSuspended }: Pick<ProviderDeps, 'users' | 'isSuspended'>,
  sub: string,
  grantId?: string,
): Promise<OidcAccount | undefined> {
  const user = await users.get(sub);
  if (user === undefined) return undefined;
  const account = grantId === undefined ? undefined : accountOfGrant(grantId);
  await denySuspended(account, isSuspended);
  const role = user.memberships.find((own) => accountKey(own.account) === account)?.role;
  // When a user leaves an account, the apps that user connected to it lose access.
  if (account !== undefined && role === undefined) return undefined;
  const claims = {
    sub: user.id,
    // Users give no name besides their address.
    name: user.email,
    preferred_username: user.email,
    updated_at: Math.floor(Date.parse(user.emailConfirmedAt ?? user.createdAt) / 1000),
    email: user.email,
    email_verified: user.emailConfirmedAt !== undefined,
  };
  return { accountId: user.id, claims: () => claims, role };
}

/** A grant for a suspended account counts as none, so that the user can choose another account. */
async function loadExistingGrant(ctx: KoaContextWithOIDC, isSuspended: IsSuspended) {
  const { client, session, result, provider } = ctx.oidc;
  if (client === undefined || session === undefined) return undefined;
  const grantId = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  if (grant !== undefined && (await isOfSuspended(accountOfGrant(grant.jti), isSuspended))) return undefined;
  if (client.clientId !== CONSOLE_CLIENT_ID) return grant;
  return grant ?? grantOfConsole(ctx);
}

async function extraTokenClaims(
  { oidc }: KoaContextWithOIDC,
  token: AccessToken | ClientCredentials,
  isSuspended: IsSuspended,
) {
  if (token.kind === 'ClientCredentials') {
    const account = oidc.client?.[ACCOUNT_OF_CLIENT];
    await denySuspended(account, isSuspended);
    return account ? { [ACCOUNT_CLAIM]: account } : undefined;
  }
  const account = 'grantId' in token && token.grantId ? accountOfGrant(token.grantId) : undefined;
  // The role at this moment. A token without one would allow all that its scopes do.
  return account && { [ACCOUNT_CLAIM]: account, [ROLE_CLAIM]: oidc.account?.role ?? 'None' };
}

/** oidc-provider does not store JWTs. This record makes userinfo, introspection and revocation work for them. */
const storeJwt =
  (oidcAdapter: OidcAdapter, storedId: (jti: string) => string) =>
  async (
    _ctx: KoaContextWithOIDC,
    token: AccessToken | ClientCredentials,
    { payload }: { readonly payload: Record<string, unknown> },
  ): Promise<void> => {
    const id = storedId(token.jti);
    const { exp, iat } = payload;
    if (typeof exp !== 'number' || typeof iat !== 'number') throw new Error('The token has no exp or iat');
    await oidcAdapter.adapter(token.kind).upsert(id, { ...fieldsOf(token), jti: id, exp, iat }, exp - iat);
  };

type RequestContext = Parameters<Parameters<Provider['use']>[0]>[0];

/** Completes a request before oidc-provider handles it, and rewrites its answer. */
async function handle(
  ctx: RequestContext,
  next: () => Promise<unknown>,
  provider: Provider,
  { resources, oidcAdapter, isAllowed, signedOut, issuer }: ProviderDeps,
  { keys }: KeySet,
): Promise<void> {
  // Security headers for pages. oidc-provider sets the content type and cache control of its responses itself.
  const { 'content-type': _, 'cache-control': __, ...headers } = pageHeaders([]);
  ctx.set(headers);
  // Shorter than the time for which a new key is published before it signs.
  if (CACHEABLE.has(ctx.path)) ctx.set('cache-control', 'public, max-age=300');
  if (ctx.path === PATHS.authorization) {
    const parameters = new URLSearchParams(ctx.querystring);
    completeAuthorization(parameters, { resources, client: await requestingClient(provider, parameters) });
    ctx.querystring = parameters.toString();
  }
  if (ctx.path === PATHS.logout && !(await hasOwnHint(ctx, { issuer, keys }))) return refuseHint(ctx);
  await next();
  const sender = senderOf(ctx);
  if (sender !== undefined) noteSender(sender);
  answerSignOutOfNobody(ctx);
  if (hasSignedOut(ctx)) await signedOut(ctx.get('cookie'));
  await rewriteAnswer(ctx, isAllowed);
  if (ctx.path === PATHS.token && ctx.status === 200) await recordAnswered(ctx, oidcAdapter);
}

/** Records that a code or refresh token was exchanged, so that another use of it is a replay. */
async function recordAnswered({ oidc }: RequestContext, oidcAdapter: OidcAdapter): Promise<void> {
  const { AuthorizationCode, RotatedRefreshToken } = oidc?.entities ?? {};
  if (AuthorizationCode !== undefined) await oidcAdapter.answered('AuthorizationCode', AuthorizationCode.jti);
  if (RotatedRefreshToken === undefined) return;
  await oidcAdapter.answered('RefreshToken', RotatedRefreshToken.jti);
  // If that fails, the next refresh does it. This request has been served.
  await oidcAdapter.prolong(RotatedRefreshToken.grantId ?? '', GRANT).catch(() => {});
}

/** Ends the session of the browser that sent the request and clears its cookies. Grants are kept. */
export async function endSession(provider: Provider, request: IncomingMessage, response: ServerResponse) {
  const context = provider.createContext(request, response);
  const session = await provider.Session.get(context);
  await session.destroy();
  context.cookies.set(provider.cookieName('session'), null, COOKIE);
}

const CACHEABLE: ReadonlySet<string> = new Set([PATHS.jwks, PATHS.openidConfiguration, PATHS.oauthMetadata]);
/** The fields that oidc-provider would store if the token were opaque; it ignores unknown ones. */
function fieldsOf(token: AccessToken | ClientCredentials): Record<string, unknown> {
  const { format: _, ...fields }: Record<string, unknown> = { ...token };
  return fields;
}

/** Lets browsers call userinfo from the origins of a client's redirect URIs, and the other endpoints if the client is public. */
function clientBasedCORS(
  ctx: KoaContextWithOIDC,
  origin: string,
  client: { redirectUris?: readonly string[] | undefined; clientAuthMethod?: string | undefined },
): boolean {
  if (ctx.oidc.route !== 'userinfo' && client.clientAuthMethod !== 'none') return false;
  return client.redirectUris?.some((uri) => URL.parse(uri)?.origin === origin) ?? false;
}

async function requestingClient(
  provider: Provider,
  parameters: URLSearchParams,
): Promise<RequestingClient | undefined> {
  try {
    const client = await provider.Client.find(parameters.get('client_id') ?? '');
    return client && { mayRefresh: client.grantTypeAllowed('refresh_token'), scope: client.scope };
  } catch (error) {
    // oidc-provider looks the client up again, and answers then.
    if (error instanceof errors.OIDCProviderError || isUnavailable(error)) return undefined;
    throw error;
  }
}

async function grantOfConsole({ oidc }: KoaContextWithOIDC) {
  const { account, client, params, provider, resourceServers } = oidc;
  if (account === undefined || client === undefined) return undefined;
  const grant = new provider.Grant({ accountId: account.accountId, clientId: client.clientId });
  grant.jti = newGrantId(undefined);
  const scope = String(params?.scope ?? '');
  grant.addOIDCScope(scope);
  for (const resource of Object.keys(resourceServers ?? {})) grant.addResourceScope(resource, scope);
  await grant.save();
  return grant;
}
