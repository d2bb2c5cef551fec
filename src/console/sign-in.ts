import type { FastifyInstance, FastifyReply } from 'fastify';
import type { CustomFetch } from 'openid-client';
import type { Users } from '../auth/users.ts';
import { CONSOLE_CALLBACK_PATH, CONSOLE_CLIENT_ID } from '../authorization-server/console-client.ts';
import { PATHS } from '../authorization-server/paths.ts';
import { problemPage, sendPage } from '../html/layout.ts';
import { loadOnce } from '../runtime/load-once.ts';
import type { Cookies } from './cookies.ts';
import type { Sessions } from './sessions.ts';

/** The console as a client of the service's own authorization server: authorization code with PKCE. */
export type SignIn = {
  readonly publicUrl: string;
  readonly cookies: Cookies;
  readonly sessions: Sessions;
  readonly users: Pick<Users, 'get'>;
};

/** Where browsers go that have signed out. */
export const SIGNED_OUT_PATH = '/console/signed-out';

export const SESSION_COOKIE = 'console';
const STATE_COOKIE = 'console_sign_in';
const STATE_SECONDS = 600;

type Begun = { readonly state: string; readonly nonce: string; readonly verifier: string; readonly to: string };

export function signInRoutes(app: FastifyInstance, deps: SignIn): void {
  const { publicUrl, cookies, sessions, users } = deps;
  const callbackUrl = `${publicUrl}${CONSOLE_CALLBACK_PATH}`;
  const openIdClient = loadOnce(() => loadOpenIdClient(app, publicUrl));

  app.get<{ Querystring: { to?: string } }>('/console/sign-in', async (request, reply) => {
    const { client, configuration } = await openIdClient();
    const begun: Begun = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      to: ownPath(request.query.to),
    };
    cookies.setSealed(reply, STATE_COOKIE, begun, STATE_SECONDS);
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: callbackUrl,
      scope: 'openid',
      resource: 'api',
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
    });
    return reply.redirect(url.href, 303);
  });

  app.get<{ Querystring: { code?: string; state?: string; error?: string } }>(
    CONSOLE_CALLBACK_PATH,
    async (request, reply) => {
      const begun = begunOf(cookies.getSealed(request, STATE_COOKIE));
      cookies.clear(reply, STATE_COOKIE);
      const { code, state, error } = request.query;
      // Without the state we sent, somebody else may want to sign this browser in as themselves.
      if (begun === undefined || state !== begun.state)
        return refuse(reply, 'This sign-in was not begun in this browser, or it took longer than ten minutes.');
      if (error !== undefined || code === undefined)
        return refuse(reply, 'The sign-in was not completed. Nothing has happened.');

      const userId = await verify(request.url, begun);
      const user = userId === undefined ? undefined : await users.get(userId);
      const account = user?.accounts[0];
      if (user === undefined || account === undefined) return refuse(reply, 'The sign-in could not be verified.');

      const before = cookies.get(request, SESSION_COOKIE);
      if (before !== undefined) await sessions.end(before);
      cookies.set(reply, SESSION_COOKIE, await sessions.start(user.id, account));
      return reply.redirect(begun.to, 303);
    },
  );

  app.get(SIGNED_OUT_PATH, async (_request, reply) =>
    sendPage(
      reply,
      200,
      problemPage('You are signed out', 'Nobody can use the console in this browser until you sign in again.', {
        href: '/console',
        label: 'Sign in',
      }),
    ),
  );

  /** Trades the code in an answer of the authorization server for who signed in; undefined when anything is not in order. */
  async function verify(url: string, { state, nonce, verifier }: Begun): Promise<string | undefined> {
    const { client, configuration } = await openIdClient();
    const answer = new URL(callbackUrl);
    answer.search = new URL(url, publicUrl).search;
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    try {
      const tokens = await client.authorizationCodeGrant(configuration, answer, checks, { resource: 'api' });
      return tokens.claims()?.sub;
    } catch (error) {
      app.log.warn({ err: error }, 'a sign-in could not be verified');
      return undefined;
    }
  }
}

/**
 * What comes with openid-client, which is loaded when somebody first signs in. It reaches the authorization server in process:
 * behind a proxy this very process may not reach its own public address. ID tokens are dated by the machine's clock, whatever
 * CLOCK_SHIFT says, and openid-client goes by the same.
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

/** The token endpoint is all that is asked this way. */
const inProcess =
  (app: FastifyInstance): CustomFetch =>
  async (url, { headers, body }) => {
    const answer = await app.inject({ method: 'POST', url, headers, payload: String(body) });
    return new Response(answer.body, {
      status: answer.statusCode,
      headers: { 'content-type': String(answer.headers['content-type']) },
    });
  };

const refuse = (reply: FastifyReply, text: string) =>
  sendPage(reply, 400, problemPage('Sign-in failed', text, { href: '/console', label: 'Sign in again' }));

/** A page of the console to return to; never an address elsewhere. */
export const ownPath = (to: string | undefined): string =>
  to !== undefined && /^\/console(?:[/?][\w\-./~%?&=:+]*)?$/.test(to) && to.length < 1_000 ? to : '/console';

function begunOf(value: unknown): Begun | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { state, nonce, verifier, to } = value as Partial<Record<keyof Begun, unknown>>;
  const isBegun =
    typeof state === 'string' && typeof nonce === 'string' && typeof verifier === 'string' && typeof to === 'string';
  return isBegun ? { state, nonce, verifier, to } : undefined;
}
