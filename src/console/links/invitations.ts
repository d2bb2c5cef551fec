import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Invitation, Invitations } from '../../auth/invitations.ts';
import { LINK_PATHS } from '../../auth/links.ts';
import type { User, Users } from '../../auth/users.ts';
import { isRefusal } from '../../domain/decision.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import { addressOf } from '../parts/links.ts';
import { invitationText } from '../parts/role-texts.ts';
import { contextOf, type LinkRoutes, linkForm, linkPage, newPasswordFields, TO_CONSOLE } from './link-page.ts';

const { invitation: PATH } = LINK_PATHS;

type Deps = {
  readonly invitations: Invitations;
  readonly users: Pick<Users, 'byEmail'>;
  readonly accountName: (account: Invitation['account']) => Promise<string>;
  /** Signs a new user in, and shows a text on the first page. */
  readonly firstSignIn: (
    request: FastifyRequest,
    reply: FastifyReply,
    of: { readonly user: User; readonly account: Invitation['account']; readonly flash: Flash },
  ) => Promise<FastifyReply>;
};

/** What the link of an invitation opens: a form for a password, or for a person who has a sign-in, the way there. */
export function invitationRoutes(routes: LinkRoutes, { invitations, users, accountName, firstSignIn }: Deps): void {
  linkPage(routes, {
    path: PATH,
    ended: TO_CONSOLE,
    check: invitations.check,
    async page(token, { invitation }, problem) {
      // A form with a problem was one for a new user.
      const hasSignIn = problem === undefined && (await users.byEmail(invitation.email)) !== undefined;
      return {
        title: 'You are invited',
        lead: invitationText(await accountName(invitation.account), invitation),
        problem,
        main: hasSignIn ? signInFirst(token, invitation) : newUserForm(token, invitation),
      };
    },
    async act(_token, link, form, request, reply) {
      const { account } = link.invitation;
      const name = await accountName(account);
      const user = await invitations.acceptAsNew(link, form.password(), contextOf(request));
      if (isRefusal(user)) return user;
      return firstSignIn(request, reply, {
        user,
        account,
        flash: { kind: 'done', text: `You are a member of ${namedText(name)}.` },
      });
    },
  });
}

const signInFirst = (token: string, { email }: Invitation): Html =>
  html`<p>Sign in as ${named(email)} to accept.</p>
<a class="button full" href="${addressOf(`${PATH}/accept`, { link: token })}">Sign in</a>`;

const newUserForm = (token: string, { email }: Invitation): Html =>
  linkForm(PATH, token)`<p>Set a password to accept. You sign in with it and your address.</p>
${newPasswordFields(email, 'Password')}<button class="button full" type="submit">Accept</button>`;
