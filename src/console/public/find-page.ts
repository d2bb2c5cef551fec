import { MAX_COMPARED } from '../../domain/limits.ts';
import { amount } from '../../html/amounts.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { FoundSpace } from '../../queries/space-search.ts';
import { type Compared, comparisonProblems, comparisonTable } from '../find/compare.ts';
import { type FindFilter, findPath, readFilter } from '../find/find-filter.ts';
import { filterForm } from '../find/find-form.ts';
import { type FindLinks, nothingOn, searchedList } from '../find/find-results.ts';
import { compareChoice } from '../find/shortlist.ts';
import { buttonLink, emptyState, problemSummary } from '../parts/frame.ts';
import { roomPath } from '../parts/public-addresses.ts';
import type { PageDeps } from '../parts/routes.ts';
import { type Form, idOf } from '../parts/typed-form.ts';
import { askPath } from './ask-path.ts';
import type { PublicPage } from './public-page.ts';

type Deps = Pick<PageDeps, 'queries' | 'settings'>;

export const ROOMS = '/rooms';
export const COMPARED_ROOMS = `${ROOMS}/compare`;

/** The search for published spaces, for everyone: the same as that of a brand. */
export async function publicFindPage(
  deps: Deps,
  query: Form,
  { now, network }: { readonly now: number; readonly network: string },
): Promise<PublicPage> {
  const { currency, publicUrl } = deps.settings;
  const { filter, problems } = readFilter(query, now, { communities: [], amount, isPublic: true });
  const form = filterForm({ query, now, filter, communities: [], problems, currency, amount, path: ROOMS });
  return {
    title: 'Find a room',
    description: 'Rooms for events, with their free days, prices and reviews.',
    address: `${publicUrl}${ROOMS}`,
    problems,
    main: html`<h1>Find a room</h1>${problemSummary(problems)}${form}${filter && (await found(filter))}`,
  };

  function found(asked: FindFilter): Promise<Html> {
    return searchedList(deps, asked, {
      by: { kind: 'Stranger', network },
      amount,
      links: linksOf(deps.settings),
      actionsOf: (space) => html`<div class="row">${compareChoice(space)}</div>`,
      nothing: () => nothingOn(asked, ROOMS, 'room'),
    });
  }
}

const linksOf = (settings: Deps['settings']): FindLinks => ({
  results: (filter: FindFilter) => findPath(filter, ROOMS),
  space: (found) => roomOf(found),
  time: ({ space }, chosen) => askPath(settings, space, chosen),
  comparison: COMPARED_ROOMS,
});

const roomOf = ({ space, communityName: name }: Pick<FoundSpace, 'space' | 'communityName'>): string =>
  roomPath({ communityId: space.communityId, name }, space);

/** Published spaces side by side. */
export async function publicComparePage({ queries, settings }: Deps, query: Form): Promise<PublicPage> {
  const asked = [...new Set(query.all('space'))];
  const found = await Promise.all(
    asked.slice(0, MAX_COMPARED).map(async (text): Promise<Compared | undefined> => {
      const id = idOf(text);
      const published = id === undefined ? undefined : await queries.published.space(id);
      if (published === undefined) return undefined;
      const { space, community } = published;
      const { house, rating } = await queries.published.details(published);
      return { space, communityName: community.name, house, rating };
    }),
  );
  const compared = found.filter((one) => one !== undefined);
  const problems = comparisonProblems(asked.length, Math.min(asked.length, MAX_COMPARED) - compared.length);
  const links = compared.map(
    (one) => html`<li class="row apart"><a href="${roomOf(one)}">${named(one.space.name)}</a>
<a class="button small" href="${askPath(settings, one.space)}">Ask for it<span class="visually-hidden">:
${named(one.space.name)}</span></a></li>`,
  );
  return {
    title: 'Compare rooms',
    description: 'Rooms side by side.',
    address: `${settings.publicUrl}${COMPARED_ROOMS}`,
    problems,
    main: html`<p><a href="${ROOMS}">Find a room</a></p><h1>Compare rooms</h1>
${problemSummary(problems)}${
  compared.length < 2
    ? emptyState('list', 'Nothing to compare yet', buttonLink(ROOMS, 'Find a room'))`
Choose two to ${String(MAX_COMPARED)} rooms where you search.`
    : html`<p class="lead">What differs is in bold.</p><ul class="stack tight plain">${links}</ul>
${comparisonTable(compared, { amount, settings })}`
}`,
  };
}
