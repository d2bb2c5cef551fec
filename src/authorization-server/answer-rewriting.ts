import type { KoaContextWithOIDC } from 'oidc-provider';
import { OFFLINE_SCOPE } from '../auth/scopes.ts';
import { isUnavailable, RETRY_AFTER_SECONDS } from '../runtime/unavailable.ts';
import { allowedText } from './allowed-text.ts';
import { isDocumentUnreachable } from './client-documents.ts';
import { CONSOLE_CLIENT_ID } from './console-client.ts';
import { appOf, autoSubmitPage, leavingPage, unavailablePage, type Way } from './pages.ts';
import { PATHS } from './paths.ts';
import { formTarget, isLoopback } from './redirect-uri.ts';
import { NO_CLIENT_DOCUMENT } from './unavailable.ts';

/** oidc-provider's context; `oidc` is missing outside of its routes. */
type Context = Omit<KoaContextWithOIDC, 'oidc'> & Partial<Pick<KoaContextWithOIDC, 'oidc'>>;

/** Whether any user has allowed an app. */
export type IsAllowed = (clientId: string) => Promise<boolean>;

/** Adapts answers of oidc-provider where it has no option or hook for it. */
export async function rewriteAnswer(ctx: Context, isAllowed: IsAllowed): Promise<void> {
  if (isDocumentUnreachable(ctx) && ctx.status >= 400) {
    const isPage = ctx.response.is('html') !== false;
    ctx.body = isPage
      ? unavailablePage(NO_CLIENT_DOCUMENT, false)
      : { error: 'temporarily_unavailable', error_description: NO_CLIENT_DOCUMENT };
    ctx.status = 503;
  }
  if (ctx.status === 503) ctx.set('retry-after', String(RETRY_AFTER_SECONDS));
  const formTargets = await restyle(ctx, isAllowed);
  // oidc-provider may have added the hash of a script.
  const policy = ctx.response.get('content-security-policy');
  ctx.set(
    'content-security-policy',
    policy.replace(/form-action [^;]*/, (own: string) => [own, ...formTargets].join(' ')),
  );
  if (DISCOVERY.has(ctx.path)) ctx.body = withoutUnissuedClaims(ctx.body);
  if (ctx.path === PATHS.token && isForbiddenGrant(ctx)) ctx.body = { ...ctx.body, error: 'unauthorized_client' };
  if (ctx.path === PATHS.token && ctx.body?.refresh_token !== undefined) ctx.body = withOfflineScope(ctx.body);
  if (ctx.path === PATHS.introspection && ctx.body?.active === true)
    ctx.body = { sub: ctx.body.client_id, ...ctx.body };
  // Some clients refuse the type of an empty body.
  if (ctx.path === PATHS.revocation && ctx.body === '') ctx.remove('content-type');
  if (typeof ctx.body?.error_description === 'string')
    ctx.body = { ...ctx.body, error_description: allowedText(ctx.body.error_description) };
}

/** The scope of a token answer as introspection shows it: clients compare it with the one that they asked for. */
function withOfflineScope(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const scopes = typeof body.scope === 'string' ? body.scope.split(' ') : [];
  return { ...body, scope: [...new Set([...scopes, OFFLINE_SCOPE])].join(' ') };
}

const DISCOVERY: ReadonlySet<string> = new Set([PATHS.openidConfiguration, PATHS.oauthMetadata]);

/**
 * Restyles oidc-provider's own pages, and shows a page before a redirect to an app that no user has allowed yet.
 * @returns the CSP sources of their form targets: only addresses that oidc-provider has verified as the client's
 */
async function restyle(ctx: Context, isAllowed: IsAllowed): Promise<string[]> {
  const own = typeof ctx.body === 'string' ? autoSubmitPage(ctx.body) : undefined;
  if (ctx.path === PATHS.authorization) {
    const to = own?.target ?? ctx.response.get('location');
    // Our own pages have relative addresses.
    if (URL.canParse(to) && !(await mayRedirect(new URL(to), ctx.oidc?.client?.clientId, isAllowed))) {
      askBeforeLeaving(ctx, to, own?.way ?? { href: to });
      return own === undefined ? [] : formTarget(to);
    }
  }
  if (own !== undefined) ctx.body = own.page;
  const leavesFor =
    ctx.path === PATHS.logout && ctx.status < 400 ? ctx.oidc?.params?.post_logout_redirect_uri : undefined;
  return [...formTarget(leavesFor), ...formTarget(own?.target)];
}

/**
 * Whether a browser is redirected to an app's address without a question. A loopback address leads to a program on the user's own
 * machine, so it needs none.
 */
async function mayRedirect(to: URL, clientId: string | undefined, isAllowed: IsAllowed): Promise<boolean> {
  if (clientId === undefined || clientId === CONSOLE_CLIENT_ID || isLoopback(to)) return true;
  try {
    return await isAllowed(clientId);
  } catch (error) {
    // While the store is unavailable, ask.
    if (isUnavailable(error)) return false;
    throw error;
  }
}

/**
 * Shows a page before redirecting an unconfirmed answer, such as an error, to an app that no user has allowed yet. Otherwise an attacker
 * could register a client and use our address as an open redirector (RFC 9700, 4.11.2).
 */
function askBeforeLeaving(ctx: Context, to: string, way: Way): void {
  const { clientId: id = '', clientName: name } = ctx.oidc?.client ?? {};
  ctx.status = 200;
  ctx.remove('location');
  ctx.type = 'html';
  ctx.body = leavingPage({ app: appOf({ id, name }, to), way });
}

/** Without `sid`: ID tokens carry no session id. */
const withoutUnissuedClaims = (metadata: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const { claims_supported: claims } = metadata;
  return { ...metadata, claims_supported: Array.isArray(claims) ? claims.filter((name) => name !== 'sid') : claims };
};

/**
 * Corrects the error code for a grant type that the client may not use: RFC 6749, 5.2 defines one, but oidc-provider answers
 * `invalid_request`.
 */
function isForbiddenGrant({ body, oidc }: Context): boolean {
  const type = oidc?.params?.grant_type;
  const isKnown = typeof type === 'string' && GRANT_TYPES.has(type);
  return isKnown && body?.error === 'invalid_request' && oidc?.client?.grantTypeAllowed(type) === false;
}

const GRANT_TYPES: ReadonlySet<string> = new Set(['authorization_code', 'refresh_token', 'client_credentials']);
