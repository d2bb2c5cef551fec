import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Sender } from '../../auth/caller.ts';
import { Form } from '../parts/typed-form.ts';
import { rejectForm, type SessionDeps } from './rejected-form.ts';
import type { CurrentSession } from './sessions.ts';
import { SESSION_COOKIE } from './sign-in.ts';

/** The user of a session, for the log. */
export const senderOf = ({ session, user }: CurrentSession): Sender => ({
  account: session.account,
  credential: { kind: 'user', id: user.id },
});

/**
 * The session of a request. Undefined once it has replied: without a session with a redirect to sign-in, or to a form with 401; with 403 to
 * a form that was not made for this session and account.
 */
export type SessionCheck = (request: FastifyRequest, reply: FastifyReply) => Promise<CurrentSession | undefined>;

export function createSessionCheck(deps: SessionDeps): SessionCheck {
  const { sessions, cookies, publicUrl } = deps;
  const signInUrl = (to: string) => `${publicUrl}/console/sign-in?to=${encodeURIComponent(to)}`;

  /** Whether a form came from this site and was made for this session and account (docs/decisions/console.md). */
  function isOwnForm(request: FastifyRequest, current: CurrentSession): boolean {
    const { origin } = request.headers;
    const isSameOrigin = origin === undefined || origin === publicUrl;
    return isSameOrigin && sessions.isCsrfToken(current, new Form(request.body).text('csrf'));
  }

  return async (request, reply) => {
    const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
    const isForm = request.method === 'POST';
    if (current !== undefined && (!isForm || isOwnForm(request, current))) {
      request.sender = senderOf(current);
      return current;
    }
    if (current !== undefined) await rejectForm(deps, request, reply, { reason: 'foreign' });
    else if (isForm) await rejectForm(deps, request, reply, { reason: 'sessionEnded', signInUrl });
    else reply.redirect(signInUrl(request.url), 303);
    return undefined;
  };
}
