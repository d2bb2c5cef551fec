import type { FastifyReply, FastifyRequest } from 'fastify';
import { isCheckOld } from '../../auth/access.ts';
import type { Sender } from '../../auth/caller.ts';
import { Form } from '../parts/typed-form.ts';
import { type Rejection, rejectForm, type SessionDeps } from './rejected-form.ts';
import type { CurrentSession } from './sessions.ts';
import { ENDED_SESSION_COOKIE, SESSION_COOKIE } from './sign-in.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by {@link SessionCheck} before the body is read. */
    visitor: Visitor | undefined;
  }
}

type Visitor =
  /** With when the session was looked up, by `performance.now()`. */
  | { readonly current: CurrentSession; readonly checkedAt: number }
  /** The form is read only to show what was typed. */
  | { readonly rejection: Rejection };

/** The user of a session, for the log. */
export const senderOf = ({ session, user }: CurrentSession): Sender => ({
  account: session.account,
  credential: { kind: 'user', id: user.id },
});

/** Checks the session of a request: before its body is read, and once it has been read. Both return undefined if no handler may follow. */
export type SessionCheck = {
  /**
   * Answers a request without a session: a page with a redirect to sign-in, a form with 401. Of a browser that has had a session, the form is
   * read and then answered by `confirm`, to show what was typed. Answers a form from another site with 403.
   */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<CurrentSession | undefined>;
  /** The same for a session that has ended meanwhile. Answers a form that was not made for this session and account with 403. */
  confirm(request: FastifyRequest, reply: FastifyReply): Promise<CurrentSession | undefined>;
  /** Rejects a form before its body is read, or afterwards, to show what was typed. */
  reject(request: FastifyRequest, reply: FastifyReply, rejection: Rejection): Promise<undefined>;
};

const FORM = /^application\/x-www-form-urlencoded\b/i;

export function createSessionCheck(deps: SessionDeps): SessionCheck {
  const { sessions, cookies, publicUrl, waitAfterRefusals } = deps;
  const signInUrl = (to: string) => `${publicUrl}/console/sign-in?to=${encodeURIComponent(to)}`;
  const ended = { reason: 'sessionEnded', signInUrl } as const;

  const isSameOrigin = ({ headers: { origin } }: FastifyRequest): boolean =>
    origin === undefined || origin === publicUrl;

  /** Whether a form was made for this session and account (docs/decisions/console.md). */
  const isOwnForm = (request: FastifyRequest, current: CurrentSession): boolean =>
    sessions.isCsrfToken(current, new Form(request.body).text('csrf'));

  const hasHadSession = (request: FastifyRequest): boolean =>
    [SESSION_COOKIE, ENDED_SESSION_COOKIE].some((name) => sessions.isIssued(cookies.get(request, name) ?? ''));

  async function lookUp(request: FastifyRequest): Promise<CurrentSession | undefined> {
    const checkedAt = performance.now();
    const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
    if (current === undefined) return undefined;
    request.visitor = { current, checkedAt };
    request.sender = senderOf(current);
    return current;
  }

  async function reject(request: FastifyRequest, reply: FastifyReply, rejection: Rejection): Promise<undefined> {
    const isRead = request.body !== undefined;
    const mayRead =
      FORM.test(request.headers['content-type'] ?? '') && (await waitAfterRefusals(request)) === undefined;
    if (isRead || !mayRead) await rejectForm(deps, request, reply, rejection);
    else request.visitor = { rejection };
  }

  return {
    reject,

    async admit(request, reply) {
      const current = await lookUp(request);
      const isForm = request.method === 'POST';
      if (current !== undefined && (!isForm || isSameOrigin(request))) return current;
      if (current !== undefined) await rejectForm(deps, request, reply, { reason: 'foreign' });
      else if (!isForm) await reply.redirect(signInUrl(request.url), 303);
      else if (hasHadSession(request)) await reject(request, reply, ended);
      else await rejectForm(deps, request, reply, ended);
      return undefined;
    },

    async confirm(request, reply) {
      const { visitor } = request;
      if (visitor !== undefined && 'rejection' in visitor) {
        await rejectForm(deps, request, reply, visitor.rejection);
        return undefined;
      }
      const current = visitor === undefined || isCheckOld(visitor.checkedAt) ? await lookUp(request) : visitor.current;
      const isForm = request.method === 'POST';
      if (current !== undefined && (!isForm || isOwnForm(request, current))) return current;
      if (current !== undefined) await rejectForm(deps, request, reply, { reason: 'foreign' });
      else if (isForm) await rejectForm(deps, request, reply, ended);
      else await reply.redirect(signInUrl(request.url), 303);
      return undefined;
    },
  };
}
