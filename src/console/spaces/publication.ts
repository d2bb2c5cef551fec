import { HOUSE_DESCRIPTION_LABELS, SPACE_DESCRIPTION_LABELS } from '../../contract/description.ts';
import type { Community } from '../../domain/community.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { MAX_SITES } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { done, missing, nothingToDo, type PageContent } from '../parts/answer.ts';
import { editedIn, outdatedProblems, seenField } from '../parts/described-form.ts';
import { choices, controlsOf, postForm, problemOf, textArea } from '../parts/forms.ts';
import { housePath, roomPath } from '../parts/public-addresses.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { type SpacePage, searchedSpaces, spacePage } from '../parts/space-pages.ts';
import { dataTable, labelledColumn, rowHeading } from '../parts/tables.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { PATH, PUBLIC_PATH } from './space-list.ts';

const LABELS = { published: SPACE_DESCRIPTION_LABELS.published, sites: HOUSE_DESCRIPTION_LABELS.sites } as const;
const FIELDS = ['published', 'sites'] as const;

/** What of a community everyone may see: which spaces have a public page, and which websites may embed their calendars. */
export function publicationPages(
  { community }: ConsoleRoutes,
  { commands, queries, pageViews, settings }: PageDeps,
): void {
  async function read({ account }: CommunityVisit) {
    const [spaces, house] = await Promise.all([queries.spaces.list(account), queries.spaces.community(account.id)]);
    return { spaces, house };
  }

  community.get(PUBLIC_PATH, 'Manager', async (visit) => {
    const { spaces, house } = await read(visit);
    if (house === undefined) return missing('page');
    return page(visit, house, spaces, visit.restored ?? typedOf(storedOf(spaces, house)));
  });

  community.post(PUBLIC_PATH, 'Manager', async (visit) => {
    const { form, account, context } = visit;
    const { spaces, house } = await read(visit);
    if (house === undefined) return missing('page');
    const current = storedOf(spaces, house);
    const { wanted, outdated } = editedIn(form, { typed: readIn(form), current, fields: FIELDS });
    if (outdated.length > 0)
      return {
        ...(await page(visit, house, spaces, typedOf(readIn(form)), outdatedProblems(outdated, LABELS))),
        status: 409,
      };
    const again = (refusal: Refusal) => page(visit, house, spaces, form, problemOf(refusal, LABELS));
    const { catalogue } = commands;
    if (wanted.sites !== undefined) {
      const outcome = await catalogue.describeCommunity(
        { communityId: account.id, wanted: { sites: wanted.sites } },
        context,
      );
      if (isRefusal(outcome)) return again(outcome);
    }
    const isWanted = new Set(wanted.published ?? current.published);
    const changed = spaces.filter(({ spaceId, facts }) => isWanted.has(spaceId) !== (facts?.published ?? false));
    for (const { spaceId } of changed) {
      const published = isWanted.has(spaceId) ? true : null;
      const outcome = await catalogue.describeSpace({ spaceId, wanted: { published } }, context);
      if (isRefusal(outcome)) return again(outcome);
    }
    if (changed.length === 0 && wanted.sites === undefined) return nothingToDo(PUBLIC_PATH, 'Nothing has changed.');
    return done(PUBLIC_PATH, 'Saved. Public pages show it within a minute.');
  });

  async function page(
    visit: CommunityVisit,
    house: Community,
    spaces: readonly Space[],
    typed: Form,
    problems: Problems = {},
  ): Promise<PageContent> {
    const current = storedOf(spaces, house);
    const ticked = new Set(typed.all('published'));
    const list = spaces.map((space) => ({
      value: String(space.spaceId),
      label: named(space.name),
      checked: ticked.has(String(space.spaceId)),
    }));
    const content = html`${seenField(typed, current, FIELDS)}
${list.length > 0 && choices({ name: 'published', label: 'Spaces with a public page', problems }, 'checkbox', list)}
${textArea({
  ...controlsOf(typed, problems)('sites', LABELS.sites),
  value: typed.lines('sites'),
  hint: `Such as https://www.example.com, one a line, at most ${MAX_SITES}. Only they can show the calendars of your spaces.`,
  attributes: { rows: 3, spellcheck: 'false' },
})}
<div><button class="button">Save</button></div>`;
    const shown = spacePage([{ spaces: spaces.filter(({ facts }) => facts?.published) }], visit.query);
    const published = shown.groups.flatMap((group) => group.spaces);
    const views = await pageViews.inLast30Days(published);
    return {
      title: 'Public pages',
      lead: `Everyone can see a published space: photos, description without “${SPACE_DESCRIPTION_LABELS.access}”, price, free days and
reviews without names. Never who books it, or what for.`,
      back: { href: PATH, label: 'Spaces' },
      problems: { ...shown.problems, ...problems },
      main: html`${postForm(visit, PUBLIC_PATH, 'card fields narrow')`${content}`}
${addresses(house, shown, views)}${viewsByDay(published, views)}`,
    };
  }

  function addresses(house: Community, shown: SpacePage<Space>, views: Views): Html | undefined {
    const published = shown.groups.flatMap((group) => group.spaces);
    const [first] = published;
    if (first === undefined && shown.text === '') return undefined;
    const link = (path: string) => html`<a href="${path}">${settings.publicUrl}${path}</a>`;
    const table = dataTable('Published spaces', published, [
      rowHeading('Space', 'long', ({ name }) => named(name)),
      labelledColumn('Number', 'number', ({ spaceId }) => String(spaceId)),
      labelledColumn('Address', 'long', (space) => link(roomPath(house, space))),
      labelledColumn('Opened in 30 days', 'number', ({ spaceId }) => String(totalOf(views.get(spaceId)))),
    ]);
    return html`<section class="card"><h2>Addresses</h2><p>Your house: ${link(housePath(house))}</p>
${searchedSpaces(PUBLIC_PATH, shown, table)}</section>${first && calendarOf(first)}`;
  }

  function calendarOf({ spaceId, name }: Space): Html {
    const snippet = `<div data-venue-space="${spaceId}"></div>
<script src="${settings.publicUrl}/embed.js" async></script>`;
    return html`<section class="card"><h2>A calendar on your website</h2>
<p>Where the calendar of ${named(name)} is to be. The calendars of others have their numbers.</p>
<pre><code>${snippet}</code></pre></section>`;
  }
}

type Views = Awaited<ReturnType<PageDeps['pageViews']['inLast30Days']>>;

const totalOf = (days: ReturnType<Views['get']>): number => (days ?? []).reduce((sum, { count }) => sum + count, 0);

/** Undefined if no page was opened. */
function viewsByDay(published: readonly Space[], views: Views): Html | undefined {
  const lines = published.flatMap(({ spaceId, name }) => (views.get(spaceId) ?? []).map((day) => ({ ...day, name })));
  if (lines.length === 0) return undefined;
  lines.sort((a, b) => (a.date < b.date ? 1 : -1));
  return html`<section class="card"><h2>Views by day</h2>${dataTable('Views of public pages by day', lines, [
    rowHeading('Day', '', ({ date }) => shortDate(date)),
    labelledColumn('Space', '', ({ name }) => named(name)),
    labelledColumn('Opened', 'number', ({ count }) => String(count)),
  ])}</section>`;
}

type Stored = { readonly published: readonly number[]; readonly sites: readonly string[] };

const storedOf = (spaces: readonly Space[], { house }: Community): Stored => ({
  published: spaces
    .filter(({ facts }) => facts?.published)
    .map(({ spaceId }) => spaceId)
    .sort((a, b) => a - b),
  sites: house?.sites ?? [],
});

const typedOf = ({ published, sites }: Stored): Form =>
  new Form({ published: published.map(String), sites: sites.join('\n') });

const readIn = (form: Form): Stored => ({
  published: form
    .all('published')
    .map(Number)
    .sort((a, b) => a - b),
  sites: form
    .lines('sites')
    .split('\n')
    .map((line) => line.trim().replace(/\/$/, ''))
    .filter((line) => line !== ''),
});
