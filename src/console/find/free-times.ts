import { capitalised } from '../../html/formats.ts';
import { EMPTY, html } from '../../html/html.ts';
import { addressOf, ENTER, FREE_TIMES } from '../parts/links.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { type FindFilter, findPath, readFilter } from './find-filter.ts';
import { filterForm } from './find-form.ts';
import { daysText, type FindLinks, nothingOn, searchedList } from './find-results.ts';

const LEFT_OUT = 'Hours sooner than a space has to be requested are left out.';

/** The search of a community among its own spaces, for a caller: each start time that is found leads to the form that enters a booking. */
export function freeTimePages({ community }: ConsoleRoutes, deps: PageDeps): void {
  const { currency } = deps.settings;

  community.get(FREE_TIMES, 'Coordinator', async (visit) => {
    const { query, now, amount } = visit;
    const { filter, problems } = readFilter(query, now, { communities: [], amount });
    const form = filterForm({
      query,
      now,
      amount,
      filter,
      problems,
      currency,
      communities: [],
      path: FREE_TIMES,
      isOwnHouse: true,
    });
    return {
      title: 'Find a free time',
      ...(filter && { lead: `${capitalised(daysText(filter.asked))}. ${LEFT_OUT}` }),
      back: { href: ENTER, label: 'Enter a booking' },
      problems,
      main: html`${form}${filter && (await found(visit, filter))}`,
    };
  });

  const found = ({ account, amount }: CommunityVisit, filter: FindFilter) =>
    searchedList(deps, filter, {
      by: account,
      amount,
      links: linksOf(filter),
      actionsOf: () => EMPTY,
      nothing: () => nothingOn(filter, FREE_TIMES, 'space'),
    });
}

const linksOf = ({ asked: { guests } }: FindFilter): FindLinks => ({
  results: (filter) => findPath(filter, FREE_TIMES),
  space: ({ space }) => `/console/spaces/${space.spaceId}`,
  time: ({ space }, { date, start }) =>
    addressOf(ENTER, { space: String(space.spaceId), date, startHour: start?.toString(), guests: guests?.toString() }),
});
