import { roleIn } from '../../auth/memberships.ts';
import type { User } from '../../auth/users.ts';
import { isRefusal } from '../../domain/decision.ts';
import { isRole, ROLE_NAMES, type Role } from '../../domain/roles.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { done, notDone, nothingToDo, type PageContent } from '../parts/answer.ts';
import { confirm, hiddenField, postForm } from '../parts/forms.ts';
import { START_PAGE } from '../parts/frame.ts';
import { roleChoices } from '../parts/role-texts.ts';
import { type PageDeps, type Routes, routesAbout } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';

const PEOPLE = { href: '/console/people', label: 'People' } as const;

export const memberPath = (userId: string): string => `${PEOPLE.href}/${userId}`;

type Member = { readonly user: User; readonly role: Role };

/** The page of a member of an account, where a Manager changes the role or removes the member. */
export function memberPages(routes: Routes, { users }: PageDeps): void {
  const ofMember = routesAbout(routes, 'member', async ({ account }, id): Promise<Member | undefined> => {
    const user = await users.get(id);
    const role = user && roleIn(user, account);
    return user && role && { user, role };
  });

  ofMember.get(memberPath(':id'), 'Manager', (visit, member) => memberPage(visit, member));

  ofMember.post(`${memberPath(':id')}/role`, 'Manager', async (visit, { user, role }) => {
    const { account, form, context } = visit;
    const wanted = form.text('role');
    if (!isRole(wanted)) return memberPage(visit, { user, role }, { role: 'Choose a role.' });
    const name = namedText(user.email);
    if (role === wanted)
      return nothingToDo(PEOPLE.href, `${name} is a ${ROLE_NAMES[role]} already. Nothing has changed.`);
    const changed = await users.setRole(user.id, account, wanted, context, form.text('was'));
    if (isRefusal(changed)) return notDone(memberPath(user.id), changed.details);
    const isOwn = user.id === visit.user.id;
    return done(
      isOwn ? START_PAGE.href : PEOPLE.href,
      isOwn
        ? `You are a ${ROLE_NAMES[wanted]} now. Apps that you had connected have no access any more.`
        : `${name} is a ${ROLE_NAMES[wanted]} now. Apps that they had connected have no access any more.`,
    );
  });

  ofMember.post(`${memberPath(':id')}/remove`, 'Manager', async ({ account, context }, { user }) => {
    const removed = await users.removeMember(user.id, account, context);
    return isRefusal(removed)
      ? notDone(memberPath(user.id), removed.details)
      : done(PEOPLE.href, `${namedText(user.email)} has no access any more.`);
  });
}

function memberPage(visit: Visit, { user, role }: Member, problems: Problems = {}): PageContent {
  const isOwn = user.id === visit.user.id;
  const word = isOwn ? 'Leave' : 'Remove';
  const remove = confirm(visit, `${memberPath(user.id)}/remove`, { open: `${word}…`, submit: word, removes: true });
  return {
    title: namedText(user.email),
    heading: named(user.email),
    lead: isOwn ? 'This is you.' : html`A ${ROLE_NAMES[role]} of ${named(visit.accountName)}.`,
    back: PEOPLE,
    problems,
    main: html`${roleForm(visit, { user, role }, problems)}
<section class="card narrow"><h2>${word}</h2>
<p>${isOwn ? 'You lose' : 'This person loses'} access at once. Apps and calendar feeds of this person end, and the webhooks of these
apps rest; API keys, other webhooks and service clients belong to the account and stay.</p>${remove`Remove
${named(user.email)} from ${named(visit.accountName)}? If this was their last account, their sign-in is removed, too.`}</section>`,
  };
}

function roleForm(visit: Visit, { user, role }: Member, problems: Problems): Html {
  return postForm(visit, `${memberPath(user.id)}/role`, 'card fields narrow')`${hiddenField('was', role)}
${roleChoices(role, problems)}
<p class="muted small">It holds at once. Apps that this person connected for the account lose access, and can be connected
again.</p><div><button class="button">Save role</button></div>`;
}
