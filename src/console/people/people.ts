import type { Invitation } from '../../auth/invitations.ts';
import { roleIn } from '../../auth/memberships.ts';
import type { User } from '../../auth/users.ts';
import { isRefusal } from '../../domain/decision.ts';
import { EMAIL, hasLength, MAX_INVITATIONS, SEARCH } from '../../domain/limits.ts';
import { isRole, ROLE_NAMES } from '../../domain/roles.ts';
import { folded, isCalled, wordsOf } from '../../domain/searched-text.ts';
import { moment } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { venueCommand } from '../../text/venue-command.ts';
import { type Answer, done, missing } from '../parts/answer.ts';
import { confirm, controlsOf, field, hasProblems, onceField, postForm } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { historyOfAll } from '../parts/history-links.ts';
import { addressOf, pager } from '../parts/links.ts';
import { roleChoices } from '../parts/role-texts.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { actionColumn, column, dataTable, rowHeading } from '../parts/tables.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { memberPath } from './member-page.ts';

const PATH = '/console/people';

/** The people who act for an account, and those who are invited to. */
export function peoplePages(routes: Routes, { users, invitations }: PageDeps): void {
  routes.get(PATH, 'Manager', (visit) => peoplePage(visit));

  routes.post(`${PATH}/invitations`, 'Manager', async (visit) => {
    const { account, form, context, user } = visit;
    const role = form.text('role');
    if (!isRole(role)) return peoplePage(visit, { role: 'Choose a role.' });
    const invited = await invitations.invite({ account, role, email: form.text('email') }, user, context);
    if (isRefusal(invited)) return peoplePage(visit, { email: invited.details });
    const whom = namedText(invited.email);
    return invitations.sendsMail
      ? done(PATH, `${whom} is invited. A mail with the link is on its way.`)
      : done(PATH, `${whom} is invited. The operator of this service prints the link: see below.`);
  });

  routes.post(`${PATH}/invitations/:id/withdraw`, 'Manager', async ({ account, params, context }) =>
    (await invitations.withdraw(account, params.id ?? '', context)) === undefined
      ? done(PATH, 'Invitation withdrawn. Its link no longer works.')
      : missing('invitation'),
  );

  /** The members of the account, ordered by address. */
  async function membersOf({ account }: Visit): Promise<readonly User[]> {
    const ids = (await users.membersOf(account)).map(({ userId }) => userId);
    const members = (await Promise.all(ids.map(users.get))).filter((user) => user !== undefined);
    return members.filter((user) => roleIn(user, account) !== undefined).sort((a, b) => (a.email < b.email ? -1 : 1));
  }

  async function peoplePage(visit: Visit, problems: Problems = {}): Promise<Answer> {
    const { account, accountName, query } = visit;
    const [members, open] = await Promise.all([membersOf(visit), invitations.listOpen(account)]);
    const text = query.text('q');
    const wrong = hasLength(text, SEARCH) ? {} : { q: `Search for at most ${SEARCH.max} characters.` };
    const isLong = members.length > PER_PAGE;
    return {
      title: 'People',
      lead: html`Who acts for ${named(accountName)}. <a href="${historyOfAll('members')}">History</a>`,
      problems: { ...problems, ...wrong },
      ...(isLong && { actions: buttonLink('#invite', 'Invite a person', 'quiet') }),
      main: html`<div class="split"><div class="stack full">${isLong && searchForm(text, wrong)}
${!hasProblems(wrong) && lists(visit, calledLike(text, members), calledLike(text, open))}</div>
<div id="invite">${inviteForm(visit, problems, invitations.sendsMail)}</div></div>`,
    };
  }
}

/** Members on one page. */
const PER_PAGE = 30;

const searchForm = (text: string, problems: Problems): Html =>
  html`<form class="search short" method="get" action="${PATH}" role="search" aria-label="People">
${field({ name: 'q', label: 'Address contains', value: text, problems, attributes: { autocomplete: 'off', spellcheck: 'false' } })}
<button class="button quiet">${icon('search')} Search</button>
</form>`;

/** Those whose address has every word of a search. */
function calledLike<P extends { readonly email: string }>(text: string, people: readonly P[]): readonly P[] {
  const words = wordsOf(text);
  return text === '' ? people : people.filter(({ email }) => isCalled([folded(email)], words));
}

/** One page of the members, and on the first one the invitations. */
function lists(visit: Visit, members: readonly User[], open: readonly Invitation[]): Html {
  const text = visit.query.text('q');
  const all = text !== '' && html`<a class="on-screen" href="${PATH}">Show all people</a>`;
  if (members.length + open.length === 0)
    return emptyState('search', 'Nothing found', all || undefined)`No address has ‘${named(text)}’ in it.`;
  const last = Math.max(1, Math.ceil(members.length / PER_PAGE));
  const wanted = visit.query.integer('page');
  const page = wanted >= 1 ? Math.min(wanted, last) : 1;
  const to = (one: number) => addressOf(PATH, { q: text, page: one > 1 ? String(one) : undefined });
  const onPage = members.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  return html`${all && html`<p class="muted">Results for ‘${named(text)}’. ${all}</p>`}
${members.length > 0 && html`<h2>Members</h2>${memberTable(visit, onPage)}`}
${pager(
  { previous: page > 1 ? to(page - 1) : undefined, next: page < last ? to(page + 1) : undefined },
  { previous: `Page ${page - 1}`, here: `Page ${page} of ${last}`, next: `Page ${page + 1}` },
)}
${page === 1 && open.length > 0 && html`<h2>Invitations</h2>${invitationTable(visit, open)}`}`;
}

const memberTable = (visit: Visit, members: readonly User[]): Html =>
  dataTable('Members', members, [
    rowHeading(
      'Address',
      'long',
      ({ id, email }) =>
        html`<a class="whole" href="${memberPath(id)}">${named(email)}</a>${
          id === visit.user.id && html`<br><span class="muted small">you</span>`
        }`,
    ),
    column('Role', 'small', (member) => {
      const role = roleIn(member, visit.account);
      return role && ROLE_NAMES[role];
    }),
  ]);

const invitationTable = (visit: Visit, open: readonly Invitation[]): Html =>
  dataTable('Invitations', open, [
    rowHeading(
      'Address',
      'long',
      ({ email, expiresAt }) =>
        html`${named(email)}<br><span class="muted small">until ${moment(visit, expiresAt)}</span>`,
    ),
    column('Role', 'small', ({ role }) => ROLE_NAMES[role]),
    actionColumn(
      'Withdraw',
      ({ id, email }) =>
        confirm(visit, `${PATH}/invitations/${id}/withdraw`, {
          open: 'Withdraw…',
          name: email,
          submit: 'Withdraw',
        })`Withdraw
the invitation to ${named(email)}? Its link stops working.`,
    ),
  ]);

function inviteForm(visit: Visit, problems: Problems, sendsMail: boolean): Html {
  const { form, account } = visit;
  return postForm(visit, `${PATH}/invitations`, 'card fields')`${onceField()}<h2>Invite a person</h2>
${field({
  ...controlsOf(form, problems)('email', 'Address'),
  type: 'email',
  required: true,
  attributes: { maxlength: EMAIL.max, autocomplete: 'off' },
})}
${roleChoices(form.text('role'), problems)}
${
  sendsMail
    ? html`<p class="muted small">We send a link to this address. It works once, for a week.
At most ${MAX_INVITATIONS} invitations can be open.</p>`
    : html`<p class="muted small">This service sends no mail. Invite the person here, then ask the operator to print the link:</p>
<pre tabindex="0">${venueCommand()} user invite --${account.kind.toLowerCase()} ${account.id} \\
  --email ADDRESS --role ROLE</pre>`
}
<div><button class="button">Invite</button></div>`;
}
