import type { Rating } from '../../../projections/space-ratings.ts';
import type { Account } from '../../domain/account.ts';
import type { Community } from '../../domain/community.ts';
import { termsOn } from '../../domain/day-terms.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { HOUR } from '../../domain/limits.ts';
import { priceOf } from '../../domain/pricing.ts';
import { folded, isCalled, wordsOf } from '../../domain/searched-text.ts';
import type { Space } from '../../domain/space.ts';
import { amount, clock, counted, duration, longDate, shortDate, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { onlyZone } from '../parts/booking-views.ts';
import { factsLine } from '../parts/description-views.ts';
import { controlsOf, dateField, field, hasProblems, select } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { pager } from '../parts/links.ts';
import { ratingText } from '../parts/review-views.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { earliestDate, type FindFilter, findPath, readFilter } from './find-filter.ts';
import { spacePath } from './space-page.ts';
import { nextFreeDay } from './start-times.ts';

const PER_PAGE = 20;
/** Start times of a space that the list shows at first. */
const SHOWN_HOURS = 6;
/** How far ahead to search for a free day when nothing was found. */
const LOOK_AHEAD_DAYS = 60;

/** A search, and the account that makes it. */
type Search = {
  readonly account: Account;
  readonly filter: FindFilter;
  readonly communities: readonly Community[];
};

/** A space that is searched, with the hours at which an event can start on the date of the filter. */
type Candidate = {
  readonly space: Space;
  readonly total: number;
  readonly openHours: readonly number[];
};

/** The search for spaces: by date, start time, community, price and name. */
export function findPages({ brand }: ConsoleRoutes, { queries, settings }: PageDeps): void {
  const { currency, serviceFeePercent } = settings;

  brand.get('/console/find', 'Viewer', async (visit) => {
    const [spaces, communities] = await Promise.all([queries.spaces.list(visit.account), queries.spaces.communities()]);
    const { filter, problems } = readFilter(visit.query, visit.now, communities);
    const search = { account: visit.account, filter, communities };
    return {
      title: 'Find a space',
      lead: `Start times on ${longDate(filter.date)}.`,
      problems,
      main: html`${filterForm(visit, filter, communities, problems, currency)}
${
  spaces.length === 0
    ? emptyState('space', 'No spaces yet')`Spaces appear here as soon as a community adds one.`
    : hasProblems(problems)
      ? emptyState('search', 'No search yet')`Fix the fields above, then search again.`
      : await results(search, spaces)
}`,
    };
  });

  async function results(search: Search, spaces: readonly Space[]): Promise<Html> {
    const all = await openOn(search, spaces);
    const candidates = all.filter(matching(search.filter)).sort(byPrice);
    if (candidates.length === 0) return nothingFound(search, all);
    const page = pageOf(candidates, search.filter.page);
    const ratings = await queries.spaceRatings.list(
      search.account,
      page.onPage.map(({ space }) => space),
    );
    return resultList(candidates, page, ratings, search, currency);
  }

  /** Adds to each space its price and the hours at which an event can start on the date. */
  async function openOn(
    { account, filter: { date } }: Search,
    spaces: readonly Space[],
  ): Promise<readonly Candidate[]> {
    const hours = new Map<number, readonly number[]>();
    const wanted = { account, spaces, from: date, to: date, limit: spaces.length + 1 };
    let after: Parameters<typeof queries.openDays>[0]['after'];
    do {
      const page = await queries.openDays({ ...wanted, ...defined({ after }) });
      if (isRefusal(page)) break;
      for (const { space, openHours } of page.days) hours.set(space.spaceId, openHours);
      after = page.next;
    } while (after !== undefined);
    return spaces.map((space) => ({
      space,
      total: priceOf(termsOn(space, date).eventFee, serviceFeePercent).totalPrice,
      openHours: hours.get(space.spaceId) ?? [],
    }));
  }

  /** Suggests changes to the filter, with the number of results of each, and the next free day. */
  async function nothingFound(search: Search, all: readonly Candidate[]): Promise<Html> {
    const { filter, communities } = search;
    const { date, hour, communityId, most, name } = filter;
    const wider = [
      hour !== undefined && { label: 'Any start time', without: ['hour'] },
      most !== undefined && { label: 'Any price', without: ['most'] },
      communityId !== undefined && { label: 'All communities', without: ['communityId'] },
      name !== undefined && { label: 'Any name', without: ['name'] },
      narrowed(filter) > 1 && { label: 'Everything on this day', without: ['hour', 'most', 'communityId', 'name'] },
    ].flatMap((change) => {
      if (change === false) return [];
      const wide = { ...filter, ...Object.fromEntries(change.without.map((field) => [field, undefined])) };
      const count = all.filter(matching(wide)).length;
      const href = findPath({ ...wide, page: 1 });
      return count === 0 ? [] : [html`<li><a href="${href}">${change.label}: ${counted(count, 'space')}</a></li>`];
    });
    const soon = hour === undefined ? undefined : await nextDay(search, all, hour);
    const community = communities.find((one) => one.communityId === communityId);
    const wanted = [
      community && html` of ${named(community.name)}`,
      name !== undefined && html` with “${named(name)}” in its name`,
      most !== undefined && html` for up to ${amount(most, currency)}`,
      hour !== undefined && html` is free at ${clock(hour)}`,
    ];
    const another =
      soon &&
      html`<li><a href="${findPath({ ...filter, date: soon, page: 1 })}">Another day: ${shortDate(soon)} is the next
with ${clock(hour ?? 0)} free</a></li>`;
    return emptyState(
      'search',
      'Nothing found',
      html`<p>Change one thing:</p><ul class="bullets">${another}${wider}</ul>`,
    )`No space${wanted} on ${longDate(date)}.`;
  }

  /** The next day on which a space that matches the rest of the filter is free at the hour. */
  async function nextDay({ account, filter }: Search, all: readonly Candidate[], hour: number) {
    const { hour: _, ...rest } = filter;
    const spaceIds = all.filter(matching(rest)).map(({ space }) => space.spaceId);
    if (spaceIds.length === 0) return undefined;
    return nextFreeDay(queries, { account, spaceIds, startHour: hour }, filter.date, LOOK_AHEAD_DAYS);
  }
}

function filterForm(
  { query, now }: Visit,
  filter: FindFilter,
  communities: readonly Community[],
  problems: Problems,
  currency: string,
): Html {
  const hours = Array.from({ length: HOUR.max + 1 }, (_, hour) => ({ value: String(hour), label: clock(hour) }));
  const names = communities.map(({ communityId, name }) => ({ value: String(communityId), label: namedText(name) }));
  const control = controlsOf(query, problems);
  return html`<form class="card fields" method="get" action="/console/find"><div class="find-filter">
${dateField({ ...control('date', 'Date'), value: query.text('date') || filter.date, required: true, earliest: earliestDate(now) })}
${select({ ...control('hour', 'Start time'), options: [{ value: '', label: 'Any start time' }, ...hours] })}
${select({ ...control('community', 'Community'), options: [{ value: '', label: 'Any community' }, ...names] })}
${field({ ...control('max', `Maximum price (${currency})`), attributes: { inputmode: 'decimal', autocomplete: 'off' } })}
${field({ ...control('name', 'Name contains'), attributes: { autocomplete: 'off' } })}
</div><div class="row"><button class="button">Find spaces</button>${
    narrowed(filter) > 0 && buttonLink(findPath({ date: filter.date, page: 1 }), 'Clear filters', 'quiet')
  }</div></form>`;
}

/** A page of the results. */
type ResultPage = { readonly page: number; readonly last: number; readonly onPage: readonly Candidate[] };

function pageOf(candidates: readonly Candidate[], wanted: number): ResultPage {
  const last = Math.ceil(candidates.length / PER_PAGE);
  const page = Math.min(wanted, last);
  return { page, last, onPage: candidates.slice((page - 1) * PER_PAGE, page * PER_PAGE) };
}

function resultList(
  candidates: readonly Candidate[],
  { page, last, onPage }: ResultPage,
  ratings: ReadonlyMap<number, Rating>,
  { filter, communities }: Search,
  currency: string,
): Html {
  const free = candidates.filter(({ openHours }) => openHours.length > 0).length;
  const byId = new Map(communities.map((one) => [one.communityId, one]));
  const to = (wanted: number) => findPath({ ...filter, page: wanted });
  const pageZone = onlyZone(onPage.map(({ space }) => space));
  const at = filter.hour === undefined ? '' : ` at ${clock(filter.hour)}`;
  return html`<p class="muted">${counted(candidates.length, 'space')}, ${free} of them with a free time${at}. Free ones first,
by price.${pageZone && ` All times are ${zoneName(pageZone)}.`}</p>
<ul class="finds">${onPage.map((one) =>
    row(one, ratings.get(one.space.spaceId), byId.get(one.space.communityId), filter, { currency, pageZone }),
  )}</ul>
${pager(
  { previous: page > 1 ? to(page - 1) : undefined, next: page < last ? to(page + 1) : undefined },
  { previous: `Page ${page - 1}`, here: `Page ${page} of ${last}`, next: `Page ${page + 1}` },
)}`;
}

function row(
  candidate: Candidate,
  rating: Rating | undefined,
  community: Community | undefined,
  filter: FindFilter,
  { currency, pageZone }: { readonly currency: string; readonly pageZone: string | undefined },
): Html {
  const { space, total, openHours } = candidate;
  const to = (start: number | undefined) => spacePath(space.spaceId, { date: filter.date, start });
  return html`<li class="find${openHours.length === 0 && ' none'}">${initialOf(space)}
<div class="what"><h2><a href="${to(filter.hour)}">${named(space.name)}</a></h2>
<p class="muted small">${community && named(community.name)}${
    space.timeZone !== pageZone && html`, ${zoneName(space.timeZone)}`
  }${rating && html` · ${ratingText(rating)}`}</p>
${space.facts && html`<p class="muted small">${factsLine(space.facts)}</p>`}
${
  openHours.length === 0
    ? html`<p class="muted small">${space.active ? 'No free time on this day.' : 'Not taking bookings at the moment.'}</p>`
    : hourLinks(candidate, filter.hour, to)
}</div>
<p class="cost"><strong>${amount(total, currency)}</strong> <span class="muted small">for ${duration(space.durationHours)},
fees included</span></p></li>`;
}

/** The start times around the chosen one, or the first ones. The others appear in their places on request (`find.css`). */
function hourLinks({ space, openHours }: Candidate, chosen: number | undefined, to: (start?: number) => string): Html {
  const before = chosen === undefined ? 0 : openHours.indexOf(chosen) - SHOWN_HOURS / 2;
  const from = Math.max(0, Math.min(before, openHours.length - SHOWN_HOURS));
  const isShown = (index: number) => index >= from && index < from + SHOWN_HOURS;
  const links = openHours.map(
    (start, index) =>
      html`<a class="hour${!isShown(index) && ' far'}" href="${to(start)}"${
        start === chosen && html` aria-current="true"`
      }>${clock(start)}</a>`,
  );
  const more = openHours.length - SHOWN_HOURS;
  const where = html`<span class="visually-hidden"> in ${named(space.name)}</span>`;
  return html`<div class="open-hours"><span class="visually-hidden">Starts at </span>${links}${
    more > 0 &&
    html`<details><summary><span class="less">and ${more} more</span><span class="all">show fewer</span>${where}</summary></details>`
  }</div>`;
}

/** Number of colours (`.tone-0` to `.tone-7`). */
const TONES = 8;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The first letter of a name, in the colour of its community. Hidden from screen readers, because the name is beside it. */
function initialOf({ name, communityId }: Space): Html {
  const [first] = graphemes.segment(name.trim());
  return html`<span class="initial tone-${communityId % TONES}" aria-hidden="true">${first?.segment.toLocaleUpperCase('en')}</span>`;
}

/** How many fields narrow the search, besides the date. */
const narrowed = ({ hour, communityId, most, name }: FindFilter): number =>
  [hour, communityId, most, name].filter((one) => one !== undefined).length;

/** Whether a space is wanted. Words are folded once, not for each space. */
function matching({ hour, communityId, most, name }: Partial<FindFilter>): (candidate: Candidate) => boolean {
  const words = name === undefined ? [] : wordsOf(name);
  return ({ space, total, openHours }) =>
    (hour === undefined || openHours.includes(hour)) &&
    (communityId === undefined || space.communityId === communityId) &&
    (most === undefined || total <= most) &&
    (name === undefined || isCalled([folded(space.name)], words));
}

const byPrice = (a: Candidate, b: Candidate): number =>
  Number(b.openHours.length > 0) - Number(a.openHours.length > 0) ||
  a.total - b.total ||
  a.space.spaceId - b.space.spaceId;
