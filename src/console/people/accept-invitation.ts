import type { Invitation } from '../../auth/invitations.ts';
import { LINK_PATHS } from '../../auth/links.ts';
import { belongsTo } from '../../auth/memberships.ts';
import { SUSPENDED } from '../../auth/suspension.ts';
import { accountInWords, accountKey, accountOfKey } from '../../domain/account.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type Answer, done, missing, notDone, type PageContent } from '../parts/answer.ts';
import { hiddenField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { addressOf } from '../parts/links.ts';
import { invitationText } from '../parts/role-texts.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import type { Visit } from '../parts/visit.ts';

const PATH = `${LINK_PATHS.invitation}/accept`;
const ACCEPTED = `${LINK_PATHS.invitation}/accepted`;

/** Accepting an invitation as a user who has a sign-in. */
export function acceptInvitationPages(routes: Routes, deps: PageDeps): void {
  const { invitations, addressConfirmation, queries } = deps;

  routes.get(PATH, 'Viewer', async (visit) => {
    const token = visit.query.text('link');
    const link = await invitations.check(token);
    return link === undefined
      ? ended(token)
      : acceptPage(visit, token, link.invitation, invitations.whyNot(link, visit.user));
  });

  routes.post(PATH, 'Viewer', async (visit) => {
    const { user, form, context } = visit;
    const token = form.text('link');
    const link = await invitations.check(token);
    if (link === undefined) return ended(token);
    const accepted = await invitations.accept(link, user, context);
    if (!isRefusal(accepted)) return { go: addressOf(ACCEPTED, { account: accountKey(link.invitation.account) }) };
    return accepted.refused === 'ResourceNotFound' ? ended(token) : acceptPage(visit, token, link.invitation, accepted);
  });

  routes.post(`${PATH}/confirm`, 'Viewer', async ({ user, form }) => {
    const refusal = addressConfirmation.sendsMail ? await addressConfirmation.request(user) : undefined;
    const back = addressOf(PATH, { link: form.text('link') });
    if (refusal !== undefined) return notDone(back, refusal.details);
    return done(back, 'A mail with a link is on its way. Open it, then come back to this page.');
  });

  routes.get(ACCEPTED, 'Viewer', async (visit) => {
    const account = accountOfKey(visit.query.text('account'));
    const name = account && (await queries.accounts.name(account));
    const isMember = account !== undefined && belongsTo(visit.user, account);
    if (account === undefined || name === undefined || !isMember) return missing('account');
    return {
      title: 'You are a member',
      heading: html`You are a member of ${named(name)}`,
      main: postForm(visit, '/console/account', 'row')`${hiddenField('to', '/console')}
<button class="button" name="account" value="${accountKey(account)}">Switch to
it</button>`,
    };
  });

  async function acceptPage(
    visit: Visit,
    token: string,
    invitation: Invitation,
    refusal: Refusal | undefined,
  ): Promise<Answer> {
    const name = (await queries.accounts.name(invitation.account)) ?? accountInWords(invitation.account);
    if (refusal === undefined) return page(visit, invitation, name, acceptForm(visit, token));
    if (refusal === SUSPENDED) return { title: 'Suspended', status: 403, main: html`<p>${SUSPENDED.details}</p>` };
    if (refusal.reason !== 'AddressNotConfirmed') return OF_ANOTHER;
    return page(visit, invitation, name, confirmFirst(visit, token));
  }
}

const page = ({ user }: Visit, invitation: Invitation, name: string, action: Html): PageContent => ({
  title: 'You are invited',
  lead: invitationText(name, invitation),
  main: html`<div class="card stack"><p>You are signed in as ${named(user.email)}.</p>${action}</div>`,
});

const acceptForm = (visit: Visit, token: string): Html =>
  postForm(visit, PATH)`${hiddenField('link', token)}<button class="button">Accept</button>`;

const confirmFirst = (visit: Visit, token: string): Html =>
  html`<p>Your address is not confirmed yet. We send you a link that confirms it; then accept here.</p>
${postForm(visit, `${PATH}/confirm`)`${hiddenField('link', token)}<button class="button">Send the link</button>`}`;

/** The page of the link itself says that it does not work. */
const ended = (token: string): Answer => ({ go: addressOf(LINK_PATHS.invitation, { link: token }) });

const OF_ANOTHER: PageContent = {
  title: 'This invitation is for another person',
  status: 404,
  main: html`<p>Sign out, and sign in as the person who was invited.</p>
<p>${buttonLink('/console', 'Go to the console')}</p>`,
};
