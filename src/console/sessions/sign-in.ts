import type { FastifyInstance, FastifyReply } from 'fastify';
import type { CustomFetch } from 'openid-client';
import type { Users } from '../../auth/users.ts';
import { CONSOLE_CALLBACK_PATH, CONSOLE_CLIENT_ID } from '../../authorization-server/console-client.ts';
import { PATHS } from '../../authorization-server/paths.ts';
import { problemPage, sendPage } from '../../html/layout.ts';
import { loadOnce } from '../../runtime/load-once.ts';
import type { SessionDeps } from './rejected-form.ts';

/** The console as a client of the service's own authorization server: authorization code with PKCE. */
export type SignIn = SessionDeps & { readonly users: Pick<Users, 'get'> };

/** The page shown after signing out. */
export const SIGNED_OUT_PATH = '/console/signed-out';

export const SESSION_COOKIE = 'console';
const STATE_COOKIE = 'console_sign_in';
const STATE_SECONDS = 600;

/** A sign-in in progress, kept in a sealed cookie between the redirect and the callback. */
type PendingSignIn = { readonly state: string; readonly nonce: string; readonly verifier: string; readonly to: string };

export function signInRoutes(app: FastifyInstance, deps: SignIn): void {
  const { publicUrl, cookies, sessions, users } = deps;
  const callbackUrl = `${publicUrl}${CONSOLE_CALLBACK_PATH}`;
  const openIdClient = loadOnce(() => loadOpenIdClient(app, publicUrl));

  app.get<{ Querystring: { to?: string } }>('/console/sign-in', async (request, reply) => {
    const { client, configuration } = await openIdClient();
    const pending: PendingSignIn = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      to: ownPath(request.query.to),
    };
    cookies.setSealed(reply, STATE_COOKIE, pending, STATE_SECONDS);
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: callbackUrl,
      scope: 'openid',
      resource: 'api',
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    });
    return reply.redirect(url.href, 303);
  });

  app.get<{ Querystring: { code?: string; state?: string; error?: string } }>(
    CONSOLE_CALLBACK_PATH,
    async (request, reply) => {
      const pending = cookies.getSealed<PendingSignIn>(request, STATE_COOKIE);
      cookies.clear(reply, STATE_COOKIE);
      const { code, state, error } = request.query;
      // Without the state check, an attacker could sign this browser in to the attacker's own account (login CSRF).
      if (pending === undefined || state !== pending.state)
        return refuse(reply, 'This sign-in was not started in this browser, or it took longer than ten minutes.');
      if (error === 'access_denied') return sendPage(reply, 200, cancelledPage(pending.to));
      if (error !== undefined || code === undefined) return refuse(reply, 'The sign-in could not be completed.');

      const userId = await verify(request.url, pending);
      const user = userId === undefined ? undefined : await users.get(userId);
      const account = user?.accounts[0];
      if (user === undefined || account === undefined) return refuse(reply, 'The sign-in could not be verified.');

      const previous = cookies.get(request, SESSION_COOKIE);
      if (previous !== undefined) await sessions.end(previous);
      cookies.set(reply, SESSION_COOKIE, await sessions.start(user.id, account));
      return reply.redirect(pending.to, 303);
    },
  );

  app.get(SIGNED_OUT_PATH, async (_request, reply) => {
    const next = { href: '/console', label: 'Sign in' };
    return sendPage(
      reply,
      200,
      problemPage('You are signed out', 'To use the console in this browser, sign in again.', next),
    );
  });

  /** Exchanges the authorization code for the id of the user; undefined if any check fails. */
  async function verify(url: string, { state, nonce, verifier }: PendingSignIn): Promise<string | undefined> {
    const { client, configuration } = await openIdClient();
    const callback = new URL(callbackUrl);
    callback.search = new URL(url, publicUrl).search;
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    try {
      const tokens = await client.authorizationCodeGrant(configuration, callback, checks, { resource: 'api' });
      return tokens.claims()?.sub;
    } catch (error) {
      app.log.warn({ err: error }, 'a sign-in could not be verified');
      return undefined;
    }
  }
}

/**
 * Loads openid-client, at the first sign-in. It calls the authorization server in process, because behind a proxy a process may
 * be unable to reach its own public address. ID tokens are dated by the machine's clock regardless of CLOCK_SHIFT, and
 * openid-client uses the same clock.
 */
async function loadOpenIdClient(app: FastifyInstance, publicUrl: string) {
  const client = await import('openid-client');
  const server = {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}${PATHS.authorization}`,
    token_endpoint: `${publicUrl}${PATHS.token}`,
    authorization_response_iss_parameter_supported: true,
  };
  const configuration = new client.Configuration(server, CONSOLE_CLIENT_ID, undefined, client.None());
  if (publicUrl.startsWith('http:')) client.allowInsecureRequests(configuration);
  configuration[client.customFetch] = inProcess(app);
  return { client, configuration };
}

/** Sends requests of openid-client, which are only for the token endpoint, to this process. */
const inProcess =
  (app: FastifyInstance): CustomFetch =>
  async (url, { headers, body }) => {
    const response = await app.inject({ method: 'POST', url, headers, payload: String(body) });
    return new Response(response.body, {
      status: response.statusCode,
      headers: { 'content-type': String(response.headers['content-type']) },
    });
  };

const cancelledPage = (to: string): string =>
  problemPage('You are not signed in', 'You cancelled the sign-in. Nothing has changed.', {
    href: to,
    label: 'Sign in',
  });

const refuse = (reply: FastifyReply, text: string) =>
  sendPage(reply, 400, problemPage('Sign-in failed', text, { href: '/console', label: 'Sign in again' }));

/** The console page to return to after signing in; never a URL of another site (open redirect). */
export const ownPath = (to: string | undefined): string =>
  to !== undefined && /^\/console(?:[/?][\w\-./~%?&=:+]*)?$/.test(to) && to.length < 1_000 ? to : '/console';
