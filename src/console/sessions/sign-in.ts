import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CustomFetch } from 'openid-client';
import type { Users } from '../../auth/users.ts';
import type { AttemptCounts } from '../../authorization-server/attempt-counts.ts';
import { CONSOLE_CALLBACK_PATH, CONSOLE_CLIENT_ID } from '../../authorization-server/console-client.ts';
import { PATHS } from '../../authorization-server/paths.ts';
import type { Account } from '../../domain/account.ts';
import { loadOnce } from '../../event-loop/load-once.ts';
import { sendProblem } from '../../html/layout.ts';
import type { SessionDeps } from './rejected-form.ts';

/** The console as a client of the service's own authorization server: authorization code with PKCE. */
export type SignIn = SessionDeps & { readonly users: Pick<Users, 'get'>; readonly counts: AttemptCounts };

/** The page shown after signing out. */
export const SIGNED_OUT_PATH = '/console/signed-out';

export const SESSION_COOKIE = 'console';
/** The id of a session that its user has ended. It shows that a form left open in this browser was ours, and opens nothing. */
export const ENDED_SESSION_COOKIE = 'console_ended';
export const ENDED_SESSION_SECONDS = 12 * 3_600;
/** Callbacks per network and minute, as for the authorization endpoint that sends browsers there. */
const CALLBACKS = { rateLimit: { max: 300, timeWindow: '1 minute' } };

const NOT_VERIFIED = 'The sign-in could not be verified.';

/**
 * A sign-in in progress. Each tab has its own: a cookie, named after its id, that keeps its PKCE verifier between the redirect and the
 * callback. The `state` is the id and the page to return to, so that no tab is told the page of another, or loses its own.
 */
const PENDING = 'console_sign_in_';
const PENDING_SECONDS = 600;
/** Further ones end the oldest, because servers refuse requests with too many cookies. */
const MAX_PENDING = 20;
const ID_BYTES = 16;
const STATE = /^([\w-]{22})(\/.*)$/;

type PendingSignIn = { readonly id: string; readonly state: string; readonly verifier: string };

export function signInRoutes(app: FastifyInstance, deps: SignIn): void {
  const { publicUrl, cookies, sessions, users, counts } = deps;
  const callbackUrl = `${publicUrl}${CONSOLE_CALLBACK_PATH}`;
  const openIdClient = loadOnce(() => loadOpenIdClient(app, publicUrl));

  app.get<{ Querystring: { to?: string } }>('/console/sign-in', async (request, reply) => {
    const { client, configurationFor } = await openIdClient();
    const id = randomBytes(ID_BYTES).toString('base64url');
    const verifier = client.randomPKCECodeVerifier();
    for (const name of cookies.names(request, PENDING).slice(0, 1 - MAX_PENDING)) cookies.clear(reply, name);
    cookies.set(reply, `${PENDING}${id}`, verifier, PENDING_SECONDS);
    const url = client.buildAuthorizationUrl(configurationFor(request), {
      redirect_uri: callbackUrl,
      scope: 'openid',
      resource: 'api',
      state: `${id}${ownPath(request.query.to)}`,
      nonce: id,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return reply.redirect(url.href, 303);
  });

  app.get<{ Querystring: { code?: string; state?: string; error?: string } }>(
    CONSOLE_CALLBACK_PATH,
    { config: CALLBACKS },
    async (request, reply) => {
      const { code, state = '', error } = request.query;
      const [, id = '', path] = STATE.exec(state) ?? [];
      const to = ownPath(path);
      const verifier = id === '' ? undefined : cookies.get(request, `${PENDING}${id}`);
      // Without this check, an attacker could sign this browser in to the attacker's own account (login CSRF).
      if (verifier === undefined)
        return refuse(reply, to, 'This sign-in was not started in this browser, or it took longer than ten minutes.');
      cookies.clear(reply, `${PENDING}${id}`);
      if (!(await isFirstUse(id))) return refuse(reply, to, NOT_VERIFIED);
      if (error === 'access_denied')
        return sendProblem(
          reply,
          200,
          'You are not signed in',
          'You cancelled the sign-in. Nothing has changed.',
          signIn(to),
        );
      if (error !== undefined || code === undefined) return refuse(reply, to, 'The sign-in could not be completed.');

      const userId = await verify(request, { id, state, verifier });
      const user = userId === undefined ? undefined : await users.get(userId);
      const account = user?.memberships[0]?.account;
      if (user === undefined || account === undefined) return refuse(reply, to, NOT_VERIFIED);

      const previous = await sessions.current(cookies.get(request, SESSION_COOKIE));
      // Another tab has signed the same user in. A new session would make the forms that are open there invalid.
      if (previous?.user.id !== user.id) await startSession(deps, request, reply, { userId: user.id, account });
      return reply.redirect(to, 303);
    },
  );

  app.get(SIGNED_OUT_PATH, async (_request, reply) => {
    const text = 'To use the console in this browser, sign in again.';
    return sendProblem(reply, 200, 'You are signed out', text, signIn('/console'));
  });

  /** Whether no callback has used this sign-in yet, in any process. Otherwise one cookie could be sent any number of times. */
  async function isFirstUse(id: string): Promise<boolean> {
    return (await counts.add(['console sign-in', id], { max: 1, windowMs: PENDING_SECONDS * 1_000 })) === 0;
  }

  /** Exchanges the authorization code for the id of the user; undefined if any check fails. */
  async function verify(request: FastifyRequest, { id, state, verifier }: PendingSignIn): Promise<string | undefined> {
    const { client, configurationFor } = await openIdClient();
    const callback = new URL(callbackUrl);
    callback.search = new URL(request.url, publicUrl).search;
    const checks = { expectedState: state, expectedNonce: id, pkceCodeVerifier: verifier };
    try {
      const configuration = configurationFor(request);
      const tokens = await client.authorizationCodeGrant(configuration, callback, checks, { resource: 'api' });
      return tokens.claims()?.sub;
    } catch (error) {
      // Anyone can cause it, with any code.
      app.log.debug({ err: error, reqId: request.id }, 'a sign-in could not be verified');
      return undefined;
    }
  }
}

/** Starts a session in the browser of a request, in place of the one that is there. */
export async function startSession(
  { cookies, sessions }: Pick<SessionDeps, 'cookies' | 'sessions'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { userId, account }: { readonly userId: string; readonly account: Account },
): Promise<void> {
  const previous = cookies.get(request, SESSION_COOKIE);
  if (previous !== undefined) await sessions.end(previous);
  cookies.set(reply, SESSION_COOKIE, await sessions.start(userId, account, request.headers['user-agent']));
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
  const configurationFor = ({ ip }: FastifyRequest) => {
    const configuration = new client.Configuration(server, CONSOLE_CLIENT_ID, undefined, client.None());
    if (publicUrl.startsWith('http:')) client.allowInsecureRequests(configuration);
    configuration[client.customFetch] = inProcess(app, ip);
    return configuration;
  };
  return { client, configurationFor };
}

/** Sends requests of openid-client, which are only for the token endpoint, to this process. They count for the caller's network. */
const inProcess =
  (app: FastifyInstance, remoteAddress: string): CustomFetch =>
  async (url, { headers, body }) => {
    const response = await app.inject({ method: 'POST', url, headers, remoteAddress, payload: String(body) });
    return new Response(response.body, {
      status: response.statusCode,
      headers: { 'content-type': String(response.headers['content-type']) },
    });
  };

const signIn = (href: string) => ({ href, label: 'Sign in' });

const refuse = (reply: FastifyReply, to: string, text: string) =>
  sendProblem(reply, 400, 'Sign-in failed', text, { href: to, label: 'Sign in again' });

/** The console page to return to after signing in; never a URL of another site (open redirect). */
export const ownPath = (to: string | undefined): string =>
  to !== undefined && /^\/console(?:[/?][\w\-./~%?&=:+]*)?$/.test(to) && to.length < 1_000 ? to : '/console';
