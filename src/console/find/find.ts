import { KIND_LABELS } from '../../contract/description.ts';
import { daysLater } from '../../domain/calendar.ts';
import type { Community } from '../../domain/community.ts';
import { isRefusal } from '../../domain/decision.ts';
import { MAX_SEARCH_DATES } from '../../domain/limits.ts';
import type { SpaceFilter } from '../../domain/space-search.ts';
import { capitalised, clock, counted, shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { emptyState } from '../parts/frame.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { BrandVisit } from '../parts/visit.ts';
import { earliestDate, type FindFilter, findPath, NARROWING, narrowed, readFilter, without } from './find-filter.ts';
import { filterForm } from './find-form.ts';
import { BRAND_LINKS, daysText, searchedList } from './find-results.ts';
import { searchSpaces } from './find-search.ts';
import { compareChoice, shortlistButton, shortlistLink } from './shortlist.ts';

/** How many days to search for one that is free: more of them, if none is. */
const LOOK_AHEAD_DAYS = [7, MAX_SEARCH_DATES];

/** The fields of a filter, with what a search without one of them is called. */
const WIDER: readonly { readonly label: string; readonly fields: readonly (keyof SpaceFilter)[] }[] = [
  { label: 'Any start time', fields: ['hour'] },
  { label: 'Any price', fields: ['maxPrice'] },
  { label: 'Any number of guests', fields: ['guests'] },
  { label: 'Any place', fields: ['place', 'near'] },
  { label: 'With any amenities', fields: ['amenities'] },
  { label: 'Any kind of room', fields: ['kind'] },
  { label: 'All communities', fields: ['communityId'] },
  { label: 'Any name', fields: ['name'] },
];

/** The search for spaces. */
export function findPages({ brand }: ConsoleRoutes, deps: PageDeps): void {
  const { queries, settings } = deps;
  const { currency, serviceFeePercent } = settings;

  brand.get('/console/find', 'Viewer', async (visit) => {
    const communities = await queries.spaces.communities();
    const { filter, problems } = readFilter(visit.query, visit.now, { communities, amount: visit.amount });
    const form = filterForm({ ...visit, filter, communities, problems, currency });
    return {
      title: 'Find a space',
      ...(filter && {
        lead: `${filter.asked.month === undefined ? 'Start times' : 'Free'} on ${daysText(filter.asked)}.`,
      }),
      actions: shortlistLink(visit),
      problems,
      main: html`${form}
${
  (await queries.spaces.count(visit.account)) === 0
    ? emptyState('space', 'No spaces yet')`Spaces appear here as soon as a community adds one.`
    : filter === undefined
      ? emptyState('search', 'No search yet')`Fix the fields above, then search again.`
      : await found(visit, filter, communities)
}`,
    };
  });

  const wantedBy = ({ account }: BrandVisit) => ({ by: account, serviceFeePercent, includeInactive: true });

  function found(visit: BrandVisit, wanted: FindFilter, communities: readonly Community[]): Promise<Html> {
    return searchedList(deps, wanted, {
      by: visit.account,
      includeInactive: true,
      amount: visit.amount,
      links: BRAND_LINKS,
      actionsOf: (space, filter) =>
        html`<div class="row">${compareChoice(space)}${shortlistButton(visit, space, findPath(filter))}</div>`,
      nothing: () => nothingFound(visit, wanted, communities),
    });
  }

  /** Suggests changes to the filter, with the number of results of each, and the next free day. */
  async function nothingFound(visit: BrandVisit, filter: FindFilter, communities: readonly Community[]): Promise<Html> {
    const { asked } = filter;
    const all = {
      label: capitalised(`everything on ${asked.month === undefined ? 'this day' : 'these days'}`),
      fields: NARROWING,
    };
    const ways = [...WIDER, ...(narrowed(asked) > 1 ? [all] : [])];
    const wider = await Promise.all(
      ways.map(async ({ label, fields }) => {
        if (!fields.some((field) => asked[field] !== undefined)) return undefined;
        const wide = without(filter, fields);
        const { total } = await searchSpaces(queries, wide, { ...wantedBy(visit), limit: 0 });
        return total > 0 && html`<li><a href="${findPath(wide)}">${label}: ${counted(total, 'space')}</a></li>`;
      }),
    );
    const soon = await nextDay(visit, filter);
    const at = asked.hour === undefined ? '' : ` with ${clock(asked.hour)} free`;
    const another =
      soon &&
      html`<li><a href="${findPath(soon.filter)}">Another day: ${shortDate(soon.date)} is the next${at}</a></li>`;
    return emptyState(
      'search',
      'Nothing found',
      html`<p>Change one thing:</p><ul class="bullets">${another}${wider}</ul>`,
    )`No space${wantedText(visit, asked, communities)} on ${daysText(asked)}.`;
  }

  function wantedText(
    { amount }: BrandVisit,
    asked: SpaceFilter,
    communities: readonly Community[],
  ): readonly (Html | undefined | false)[] {
    const { guests, kind, place, near, amenities, communityId, name, maxPrice, hour } = asked;
    const community = communities.find((one) => one.communityId === communityId);
    return [
      kind && html` of the kind ${KIND_LABELS[kind]}`,
      guests !== undefined && html` for ${counted(guests, 'guest')}`,
      community && html` of ${named(community.name)}`,
      place !== undefined && html` at “${named(place)}”`,
      near && html` near ${near.latitude}, ${near.longitude}`,
      amenities && html` with all of the amenities`,
      name !== undefined && html` with “${named(name)}” in its name`,
      maxPrice !== undefined && amount && html` for up to ${amount(maxPrice, currency)}`,
      hour !== undefined && html` is free at ${clock(hour)}`,
    ];
  }

  /** The next day on which a space that is what the rest of the filter asks for is free, with its filter. */
  async function nextDay({ account, now }: BrandVisit, filter: FindFilter) {
    const { dates = [], month: _, weekdays: __, ...rest } = filter.asked;
    const search = { by: account, serviceFeePercent, limit: 0 };
    const anyDay = await queries.spaceSearch({ ...search, filter: rest });
    if (isRefusal(anyDay) || anyDay.total === 0) return undefined;
    const last = dates.at(-1);
    const from = last === undefined ? earliestDate(now) : daysLater(last, 1);
    for (const count of LOOK_AHEAD_DAYS) {
      const asked = { ...rest, dates: Array.from({ length: count }, (_, at) => daysLater(from, at)) };
      const results = await queries.spaceSearch({ ...search, filter: asked });
      // The days may be too far ahead.
      if (isRefusal(results)) return undefined;
      const { firstFree: date } = results;
      if (date !== undefined) return { date, filter: { ...filter, asked: { ...rest, dates: [date] }, page: 1 } };
    }
    return undefined;
  }
}
