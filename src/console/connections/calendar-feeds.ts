import type { CalendarFeedDocument } from '../../../projections/calendar-feeds.ts';
import { ownerOfFeed } from '../../domain/calendar-feed.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { MAX_FEEDS } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { moment, shortened } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { type Answer, done, missing } from '../parts/answer.ts';
import { choices, confirm, onceField, postForm, problemOf, select } from '../parts/forms.ts';
import { emptyState } from '../parts/frame.ts';
import { historyOfAll } from '../parts/history-links.ts';
import { FEEDS } from '../parts/links.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { secretPage } from '../parts/secret-page.ts';
import { actionColumn, column, dataTable, rowHeading } from '../parts/tables.ts';
import { idOf, type Problems } from '../parts/typed-form.ts';
import { may, type Visit } from '../parts/visit.ts';

/** Calendar feeds: adding one, which shows its address once, listing those of all members, and revoking them. */
export function calendarFeedPages(routes: Routes, { commands, queries, users }: PageDeps): void {
  routes.get(FEEDS, 'Viewer', listPage);

  routes.post(FEEDS, 'Viewer', async (visit) => {
    const { account, form, context, user, settings } = visit;
    const typed = form.text('space');
    const spaceId = typed === ALL || typed === '' ? undefined : idOf(typed);
    if (spaceId === undefined && typed !== ALL && typed !== '') return listPage(visit, NO_SUCH_SPACE);
    const showsNames = form.text('shows') !== BUSY;
    const isDoor = form.text('as') === DOOR || undefined;
    const outcome = await commands.calendarFeeds.add(
      { userId: user.id, account, showsNames, ...defined({ spaceId, isDoor }) },
      context,
    );
    if (isRefusal(outcome))
      return listPage(
        visit,
        outcome.refused === 'ResourceNotFound' ? NO_SUCH_SPACE : problemOf(outcome, { space: 'Space' }),
      );
    if (isDoor) return newDoorSheet(`${settings.publicUrl}/door/${outcome.secret}`);
    return secretPage({
      title: 'New calendar feed',
      heading: 'Calendar feed added',
      back: { href: FEEDS, label: 'Calendar feeds' },
      secret: `${settings.publicUrl}/calendar/${outcome.secret}.ics`,
      advice:
        'Copy the address now and treat it like a password. It will not be shown again, and anyone who has it can read the feed.',
      more: howToSubscribe(`${settings.publicUrl}/calendar/${outcome.secret}.ics`),
    });
  });

  routes.post(`${FEEDS}/:id/revoke`, 'Viewer', async (visit) => {
    const { account, params, context } = visit;
    const feedId = params.id ?? '';
    if (!isTheirs(visit, ownerOfFeed(feedId).userId)) return missing('calendar feed');
    const outcome = await commands.calendarFeeds.revoke({ feedId, by: account }, context);
    return isRefusal(outcome)
      ? missing('calendar feed')
      : done(FEEDS, 'Calendar feed revoked. Its address no longer works.');
  });

  async function listPage(visit: Visit, problems: Problems = {}): Promise<Answer> {
    const { account } = visit;
    const [every, spaces] = await Promise.all([
      queries.calendarFeeds.list(account),
      account.kind === 'Community' ? queries.spaces.list(account) : [],
    ]);
    const feeds = every.filter(({ userId }) => isTheirs(visit, userId));
    const owners = [...new Set(feeds.map(({ userId }) => userId))];
    const emails = new Map(await Promise.all(owners.map(async (id) => [id, (await users.get(id))?.email] as const)));
    return {
      title: 'Calendar feeds',
      lead: html`Addresses at which calendar programs read the times of ${named(visit.accountName)}: 30 days back and 400 ahead.
<a href="${historyOfAll('feeds')}">History</a>`,
      problems,
      main: html`<div class="split"><div>${
        feeds.length === 0
          ? emptyState('calendar', 'No calendar feeds yet')`Add one for each calendar program, so that you can revoke
it without affecting the others.`
          : feedTable(visit, feeds, spaces, emails)
      }</div>
<div>${newFeedForm(visit, spaces, problems)}</div></div>`,
    };
  }
}

/** Whether a user may see and revoke a feed: a Manager those of every member, the others their own. */
const isTheirs = (visit: Visit, userId: string): boolean => may(visit, 'Manager') || userId === visit.user.id;

const newDoorSheet = (secret: string) =>
  secretPage({
    title: 'New sheet at a door',
    heading: 'Sheet at the door added',
    back: { href: FEEDS, label: 'Calendar feeds' },
    secret,
    advice:
      'Open this address on the screen at the door now, or print the page. It will not be shown again, and anyone who has it ' +
      'can see what takes the space today.',
  });

const ALL = 'all';
const BUSY = 'busy';
const DOOR = 'door';
const NO_SUCH_SPACE: Problems = { space: 'Choose one of your spaces.' };

/** @param address of the feed. Under `webcal:`, programs on this device subscribe to it */
const howToSubscribe = (address: string): Html => html`<div class="card"><h2>Subscribe</h2>
<p><a href="${address.replace(/^https?:/, 'webcal:')}">Subscribe on this device</a>, if it has a calendar program that knows such links.</p>
<p>In Google Calendar choose “Other calendars” and “From URL”, in Outlook “Add calendar” and “Subscribe from web”, in Apple
Calendar “File” and “New Calendar Subscription”, and paste the address.</p>
<p>The program then asks for changes by itself, some only a few times a day.</p></div>`;

function newFeedForm(visit: Visit, spaces: readonly Space[], problems: Problems): Html {
  const { account, form } = visit;
  const isBusy = form.text('shows') === BUSY;
  const shows =
    account.kind === 'Community'
      ? 'Brands, spaces and titles of own events'
      : 'Spaces and communities of your bookings';
  return postForm(visit, FEEDS, 'card fields')`${onceField()}<h2>New calendar feed</h2>
${
  account.kind === 'Community' &&
  select({
    name: 'space',
    label: 'Times of',
    value: form.text('space') || ALL,
    problems,
    options: [
      { value: ALL, label: 'All spaces' },
      ...spaces.map(({ spaceId, name }) => ({ value: String(spaceId), label: namedText(shortened(name)) })),
    ],
  })
}
${
  account.kind === 'Community' &&
  choices({ name: 'as', label: 'It is for', problems }, 'radio', [
    { value: 'calendar', label: 'A calendar program', checked: form.text('as') !== DOOR },
    {
      value: DOOR,
      label: 'A screen at the door of a space',
      hint: 'A page with what takes the space today',
      checked: form.text('as') === DOOR,
    },
  ])
}
${choices({ name: 'shows', label: 'It shows', problems }, 'radio', [
  { value: 'names', label: 'Names', hint: shows, checked: !isBusy },
  { value: BUSY, label: 'Busy only', hint: 'When something is taken or closed, and nothing else', checked: isBusy },
])}
<p class="hint">Each user can have up to ${MAX_FEEDS} feeds. They end when the user leaves.</p>
<div><button class="button">Add feed</button></div>`;
}

function feedTable(
  visit: Visit,
  feeds: readonly CalendarFeedDocument[],
  spaces: readonly Space[],
  emails: ReadonlyMap<string, string | undefined>,
): Html {
  const names = new Map(spaces.map(({ spaceId, name }) => [spaceId, name]));
  const scopeOf = ({ spaceId }: CalendarFeedDocument): string => {
    if (spaceId !== undefined) return names.get(spaceId) ?? `Space ${spaceId}`;
    return visit.account.kind === 'Community' ? 'All spaces' : 'Your bookings';
  };
  return dataTable('Calendar feeds', feeds, [
    rowHeading(
      'Feed',
      'long',
      (feed) => html`${named(scopeOf(feed))}<br><code class="muted small nowrap">${feed.preview}</code>`,
    ),
    column('Shows', 'small', shownBy),
    column('User', 'small long', ({ userId, addedAt }) => {
      const email = emails.get(userId);
      return html`${email === undefined ? 'a former user' : named(email)}<br><span
class="muted">added ${moment(visit, addedAt)}</span>`;
    }),
    actionColumn('Revoke', (feed) => revokeButton(visit, feed)),
  ]);
}

const shownBy = ({ showsNames, isDoor }: CalendarFeedDocument): string =>
  `${showsNames ? 'Names' : 'Busy only'}${isDoor ? ', at the door' : ''}`;

const revokeButton = (visit: Visit, { feedId, preview }: CalendarFeedDocument): Html =>
  confirm(visit, `${FEEDS}/${feedId}/revoke`, {
    open: 'Revoke…',
    name: preview,
    submit: 'Revoke feed',
    removes: true,
  })`Revoke
the feed ${preview}? Whatever uses its address gets nothing more. This cannot be undone.`;
