import { compactVerify, createLocalJWKSet } from 'jose';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { type KeySet, SIGNING_ALGORITHM } from '../auth/signing-keys.ts';
import { type App, appOf, errorPage, signedOutOfAppPage, signedOutPage, staySignedInPage } from './pages.ts';
import { PATHS } from './paths.ts';

/** A request that oidc-provider has answered. */
export type Answered = Parameters<Parameters<Provider['use']>[0]>[0];

const CONFIRM = `${PATHS.logout}/confirm`;

/**
 * Corrects oidc-provider's answer at the sign-out endpoints. With no user signed in, oidc-provider starts a session only to show the form
 * that ends it. Such a session is not stored (`oidc-adapter.ts`), so this answers as if the form had been sent. If that leads to an app, a
 * page asks first. Otherwise an attacker could register a client and use our address as an open redirector (RFC 9700, 4.11.2).
 */
export function answerSignOutOfNobody(ctx: Answered): void {
  if (ctx.oidc?.session?.accountId !== undefined) return;
  // The form is from a page opened before the session ended, so oidc-provider cannot find its session.
  const isLate = ctx.path === CONFIRM && ctx.status === 400;
  if (!isLate && (ctx.path !== PATHS.logout || ctx.status !== 200)) return;
  ctx.remove('set-cookie');
  const app = isLate ? undefined : appAfterSignOut(ctx.oidc);
  if (app === undefined) {
    ctx.redirect(`${ctx.oidc?.issuer}${PATHS.logout}/success`);
    ctx.status = 303;
    return;
  }
  const { post_logout_redirect_uri: to, state } = ctx.oidc?.params ?? {};
  const target = new URL(String(to));
  if (typeof state === 'string') target.searchParams.set('state', state);
  ctx.body = signedOutOfAppPage({ app, way: { href: target.href } });
}

/**
 * The app to which the user returns after signing out, if any. oidc-provider has checked the address, and drops it if it does not
 * belong to the app.
 */
export function appAfterSignOut(oidc: Answered['oidc'] | undefined): App | undefined {
  const to = oidc?.params?.post_logout_redirect_uri;
  const client = oidc?.client;
  if (client === undefined || typeof to !== 'string') return undefined;
  return appOf({ id: client.clientId, name: client.clientName }, to);
}

/**
 * Whether the hint of a sign-out request, if it has one, is an ID token of ours, expired or not. oidc-provider looks up the client that a
 * hint names before it checks the signature, and would fetch its metadata document for anyone.
 */
export async function hasOwnHint(
  { querystring }: Pick<Answered, 'querystring'>,
  { issuer, keys }: { readonly issuer: string; readonly keys: KeySet['keys'] },
): Promise<boolean> {
  const hints = new URLSearchParams(querystring).getAll('id_token_hint');
  const [hint] = hints;
  // oidc-provider refuses a parameter that is sent twice, before it reads it.
  if (hint === undefined || hints.length > 1) return true;
  try {
    const published = createLocalJWKSet({ keys: keys.map(({ publicJwk }) => publicJwk) });
    const { payload } = await compactVerify(hint, published, { algorithms: [SIGNING_ALGORITHM] });
    return decoded(payload).iss === issuer;
  } catch {
    return false;
  }
}

const decoded = (payload: Uint8Array): { readonly iss?: unknown } => JSON.parse(new TextDecoder().decode(payload));

export function refuseHint(ctx: Answered): void {
  ctx.status = 400;
  ctx.type = 'html';
  ctx.body = errorPage('The id_token_hint is not an ID token of this service.');
}

/** Whether the request that was answered has signed the user of this browser out. */
export const hasSignedOut = (ctx: Answered): boolean => ctx.path === CONFIRM && ctx.oidc?.session?.destroyed === true;

/** The page after the question. It says whether the user is signed out. */
export async function afterSignOut(ctx: KoaContextWithOIDC): Promise<string> {
  const { accountId } = await ctx.oidc.provider.Session.get(ctx);
  return accountId === undefined ? signedOutPage() : staySignedInPage();
}
