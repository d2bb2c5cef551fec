import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../../auth/users.ts';
import type { Account } from '../../domain/account.ts';
import type { Flash } from '../../html/layout.ts';
import type { SessionDeps } from './rejected-form.ts';
import { keepForm, type RestoredForm } from './restored-form.ts';
import { startSession } from './sign-in.ts';

type FirstSignIn = {
  readonly user: User;
  readonly account: Account;
  /** Shown on the first page. */
  readonly flash: Flash;
  /** The first page. Default: that of the account. */
  readonly to?: string;
  /** A form that a page fills in. */
  readonly form?: Pick<RestoredForm, 'path' | 'fields'>;
};

type FirstSignInDeps = SessionDeps & {
  /** Signs a browser out of the authorization server. */
  readonly endSession: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
};

/** Signs in a user who has just set the first password. Another user who is signed in in this browser is signed out. */
export const createFirstSignIn =
  (deps: FirstSignInDeps) =>
  async (
    request: FastifyRequest,
    reply: FastifyReply,
    { user, account, flash, to = '/console', form }: FirstSignIn,
  ): Promise<FastifyReply> => {
    request.sender = { account, credential: { kind: 'user', id: user.id } };
    await deps.endSession(request, reply);
    await startSession(deps, request, reply, { userId: user.id, account });
    const [owner = ''] = deps.sessions.ownersOf({ user });
    deps.cookies.setFlash(reply, flash, owner);
    if (form !== undefined) keepForm(deps.cookies, reply, { ...form, owner });
    return reply.redirect(to, 303);
  };
