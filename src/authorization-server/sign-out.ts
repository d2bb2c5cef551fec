import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { signedOutPage, staySignedInPage } from './pages.ts';
import { PATHS } from './paths.ts';

/** A request that oidc-provider has answered. */
type Answered = Parameters<Parameters<Provider['use']>[0]>[0];

/**
 * Corrects what oidc-provider answers at the sign-out endpoints. Called once it has answered.
 *
 * Without anybody signed in it would start a session, for a form that ends it at once: one more record for everyone who calls.
 * Such a session is not stored (`oidc-adapter.ts`), so the answer goes where the form would have led. oidc-provider has checked
 * the address, and drops it if it does not belong to the app.
 */
export function answerSignOutOfNobody(ctx: Answered): void {
  if (ctx.path !== PATHS.logout || ctx.status !== 200 || ctx.oidc?.session?.accountId !== undefined) return;
  const { post_logout_redirect_uri: to, state } = ctx.oidc.params ?? {};
  const target = new URL(typeof to === 'string' ? to : `${ctx.oidc.issuer}${PATHS.logout}/success`);
  if (typeof to === 'string' && typeof state === 'string') target.searchParams.set('state', state);
  ctx.remove('set-cookie');
  ctx.redirect(target.href);
  ctx.status = 303;
}

/** Whether the request that was answered has signed the user of this browser out. */
export const hasSignedOut = (ctx: Answered): boolean =>
  ctx.path === `${PATHS.logout}/confirm` && ctx.oidc?.session?.destroyed === true;

/** The page after the question, whichever the answer was: it says what is so. */
export async function afterSignOut(ctx: KoaContextWithOIDC): Promise<string> {
  const { accountId } = await ctx.oidc.provider.Session.get(ctx);
  return accountId === undefined ? signedOutPage() : staySignedInPage();
}
