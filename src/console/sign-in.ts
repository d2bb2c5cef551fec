import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { decodeJwt } from 'jose';
import type { Users } from '../auth/users.ts';
import { CONSOLE_CALLBACK_PATH, CONSOLE_CLIENT_ID } from '../authorization-server/console-client.ts';
import { problemPage, sendPage } from '../html/layout.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Cookies } from './cookies.ts';
import type { Sessions } from './sessions.ts';

/** The console as a client of the service's own authorization server: authorization code with PKCE. */
export type SignIn = {
  readonly publicUrl: string;
  readonly cookies: Cookies;
  readonly sessions: Sessions;
  readonly users: Pick<Users, 'get'>;
};

/** Where the authorization server sends browsers back to. */
const callbackUrl = (publicUrl: string): string => `${publicUrl}${CONSOLE_CALLBACK_PATH}`;

/** Where browsers go that have signed out. */
export const SIGNED_OUT_PATH = '/console/signed-out';

export const SESSION_COOKIE = 'console';
const STATE_COOKIE = 'console_sign_in';
const STATE_SECONDS = 600;

type Begun = { readonly state: string; readonly nonce: string; readonly verifier: string; readonly to: string };

export function signInRoutes(app: FastifyInstance, deps: SignIn): void {
  const { publicUrl, cookies, sessions, users } = deps;

  app.get<{ Querystring: { to?: string } }>('/console/sign-in', async (request, reply) => {
    const begun: Begun = { state: random(), nonce: random(), verifier: random(), to: ownPath(request.query.to) };
    cookies.setSealed(reply, STATE_COOKIE, begun, STATE_SECONDS);
    const url = new URL(`${publicUrl}/connect/authorize`);
    url.search = new URLSearchParams({
      client_id: CONSOLE_CLIENT_ID,
      redirect_uri: callbackUrl(publicUrl),
      response_type: 'code',
      scope: 'openid',
      resource: 'api',
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: createHash('sha256').update(begun.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString();
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

      const idToken = await exchange(code, begun.verifier);
      const userId = idToken && subjectOf(idToken, begun.nonce);
      const user = userId === undefined ? undefined : await users.get(userId);
      const account = user?.accounts[0];
      if (idToken === undefined || user === undefined || account === undefined)
        return refuse(reply, 'The sign-in could not be verified.');

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

  /** Trades the code for an ID token, in process: the authorization server is this very application. */
  async function exchange(code: string, verifier: string): Promise<string | undefined> {
    const answer = await app.inject({
      method: 'POST',
      url: '/connect/token',
      headers: { host: new URL(publicUrl).host, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        client_id: CONSOLE_CLIENT_ID,
        redirect_uri: callbackUrl(publicUrl),
        code_verifier: verifier,
        resource: 'api',
      }).toString(),
    });
    if (answer.statusCode !== 200) {
      app.log.warn({ status: answer.statusCode, body: answer.body }, 'the code of a sign-in was refused');
      return undefined;
    }
    const { id_token: idToken } = answer.json<{ id_token?: unknown }>();
    return typeof idToken === 'string' ? idToken : undefined;
  }

  /** ID tokens are dated by the machine's clock, whatever CLOCK_SHIFT says. */
  const clock = systemClock();

  /** Straight from the token endpoint, the token needs no look at its signature (OpenID Connect Core 3.1.3.7, 6). */
  function subjectOf(idToken: string, nonce: string): string | undefined {
    const { iss, aud, exp = 0, sub, nonce: answered } = decodeJwt(idToken);
    const ours = iss === publicUrl && aud === CONSOLE_CLIENT_ID && answered === nonce && exp * 1000 > clock();
    return ours ? sub : undefined;
  }
}

const refuse = (reply: FastifyReply, text: string) =>
  sendPage(reply, 400, problemPage('Sign-in failed', text, { href: '/console', label: 'Sign in again' }));

const random = () => randomBytes(32).toString('base64url');

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
