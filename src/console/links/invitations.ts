import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Invitation, Invitations } from '../../auth/invitations.ts';
import { LINK_PATHS } from '../../auth/links.ts';
import type { User, Users } from '../../auth/users.ts';
import type { Account } from '../../domain/account.ts';
import { isRefusal } from '../../domain/decision.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { traceOf } from '../../http/trace.ts';
import { addressOf } from '../parts/links.ts';
import { invitationText } from '../parts/role-texts.ts';
import { type LinkRoutes, linkForm, newPasswordFields, sendCard, sendEnded, TO_CONSOLE } from './link-page.ts';

const { invitation: PATH } = LINK_PATHS;

type Deps = {
  readonly invitations: Invitations;
  readonly users: Pick<Users, 'byEmail'>;
  readonly accountName: (account: Invitation['account']) => Promise<string>;
  /** Signs a new user in, and shows a text on the first page. */
  readonly firstSignIn: (
    request: FastifyRequest,
    reply: FastifyReply,
    of: { readonly user: User; readonly account: Account; readonly text: string },
  ) => Promise<FastifyReply>;
};

/** What the link of an invitation opens: a form for a password, or for a person who has a sign-in, the way there. */
export function invitationRoutes({ get, post }: LinkRoutes, deps: Deps): void {
  const { invitations, users, accountName } = deps;

  get(PATH, async (query, _request, reply) => {
    const token = query.text('link');
    const link = await invitations.check(token);
    if (link === undefined) return sendEnded(reply, TO_CONSOLE);
    const { invitation } = link;
    const hasSignIn = (await users.byEmail(invitation.email)) !== undefined;
    return sendCard(reply, {
      title: 'You are invited',
      lead: invitationText(await accountName(invitation.account), invitation),
      main: hasSignIn ? signInFirst(token, invitation) : newUserForm(token, invitation),
    });
  });

  post(PATH, async (form, request, reply) => {
    const token = form.text('link');
    const link = await invitations.check(token);
    if (link === undefined) return sendEnded(reply, TO_CONSOLE);
    const { invitation } = link;
    const { account } = invitation;
    const name = await accountName(account);
    const context = { correlationId: request.id, ...traceOf(request) };
    const user = await invitations.acceptAsNew(link, form.password(), context);
    if (!isRefusal(user))
      return deps.firstSignIn(request, reply, { user, account, text: `You are a member of ${namedText(name)}.` });
    if (user.refused === 'ResourceNotFound') return sendEnded(reply, TO_CONSOLE);
    return sendCard(reply, {
      title: 'You are invited',
      lead: invitationText(name, invitation),
      problem: user.details,
      main: newUserForm(token, invitation),
    });
  });
}

const signInFirst = (token: string, { email }: Invitation): Html =>
  html`<p>Sign in as ${named(email)} to accept.</p>
<a class="button full" href="${addressOf(`${PATH}/accept`, { link: token })}">Sign in</a>`;

const newUserForm = (token: string, { email }: Invitation): Html =>
  linkForm(
    PATH,
    token,
    html`<p>Set a password to accept. You sign in with it and your address.</p>
${newPasswordFields(email, 'Password')}<button class="button full" type="submit">Accept</button>`,
  );
