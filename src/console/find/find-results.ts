import type { PlainDate, SpaceId } from '../../domain/ids.ts';
import type { Photo } from '../../domain/photos.ts';
import type { Space } from '../../domain/space.ts';
import type { SpaceFilter } from '../../domain/space-search.ts';
import { clock, counted, dayAndMonth, duration, longDate, monthName, zoneName } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { coverOf } from '../../html/photo-views.ts';
import type { FoundSpace, SpaceResults, SpaceSearch } from '../../queries/space-search.ts';
import { onlyZone } from '../parts/booking-views.ts';
import { factsLine } from '../parts/description-views.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { pager } from '../parts/links.ts';
import { ratingText } from '../parts/review-views.ts';
import type { PageDeps } from '../parts/routes.ts';
import type { Visit } from '../parts/visit.ts';
import { type FindFilter, findPath, NARROWING, without } from './find-filter.ts';
import { PER_PAGE, searchPage } from './find-search.ts';
import { COMPARE, compareForm } from './shortlist.ts';
import { spacePath } from './space-path.ts';

/** Start times, or days, of a space that the list shows at first. */
const SHOWN_HOURS = 6;

/** Which days a search is for: `Fri 20 November 2026`, `one of 3 days`, `a Saturday in May 2027`. */
export function daysText({ dates = [], month, weekdays }: SpaceFilter): string {
  const [first, ...others] = dates;
  if (month !== undefined) return `a ${weekdays?.[0] ?? 'day'} in ${monthName(month)}`;
  if (first === undefined || others.length > 0) return `one of ${counted(dates.length, 'day')}`;
  return longDate(first);
}

/** The one date of a search; undefined if it is for several days. */
const onlyDate = ({ dates = [], month }: SpaceFilter) =>
  month === undefined && dates.length === 1 ? dates[0] : undefined;

type Shown = {
  readonly results: SpaceResults;
  readonly filter: FindFilter;
  readonly currency: string;
  /** Undefined for a member who does not see amounts. */
  readonly amount: Visit['amount'];
  readonly photos: ReadonlyMap<SpaceId, readonly Photo[]>;
  readonly links: FindLinks;
  /** The buttons of a space. */
  readonly actionsOf: (space: Space) => Html;
};

/** Where a list of results leads. */
export type FindLinks = {
  /** The page of a filter. */
  results(filter: FindFilter): string;
  /** The page of a space, with the first day on which it is free. */
  space(found: FoundSpace, chosen: Chosen): string;
  /** Where a start time, or a day, is asked for. */
  time(found: FoundSpace, chosen: Chosen): string;
  /** The page that compares some of them, if one does. */
  readonly comparison?: string;
};
type Chosen = { readonly date?: PlainDate; readonly start?: number | undefined };

/** Where a brand is led. */
export const BRAND_LINKS: FindLinks = {
  results: findPath,
  space: ({ space }, chosen) => spacePath(space.spaceId, chosen),
  time: ({ space }, chosen) => spacePath(space.spaceId, chosen),
  comparison: COMPARE,
};

const ORDER_TEXTS = {
  fit: 'by price',
  price: 'by price',
  rating: 'by rating',
  distance: 'by distance',
  id: 'by number',
} as const;

/** How the results are ordered. A member who does not see amounts is not told that prices order them. */
function orderText({ asked, sort }: FindFilter, amount: Visit['amount']): string {
  if (sort === 'fit' && asked.guests !== undefined) return ', the smallest that fits first';
  const isByPrice = sort === 'fit' || sort === 'price';
  return isByPrice && amount === undefined ? '' : `, ${ORDER_TEXTS[sort]}`;
}

type Searched = Pick<Shown, 'amount' | 'links'> & {
  readonly by: SpaceSearch['by'];
  readonly includeInactive?: boolean;
  /** The buttons of a space. */
  actionsOf(space: Space, filter: FindFilter): Html;
  /** What is shown if nothing is found. */
  nothing(): Html | Promise<Html>;
};

/** Searches by a filter, and shows its page of the results. */
export async function searchedList(
  { queries, settings: { currency, serviceFeePercent } }: Pick<PageDeps, 'queries' | 'settings'>,
  wanted: FindFilter,
  { by, includeInactive = false, amount, links, actionsOf, nothing }: Searched,
): Promise<Html> {
  const { results, filter } = await searchPage(queries, wanted, { by, serviceFeePercent, includeInactive });
  if (results.total === 0) return nothing();
  return resultList({
    results,
    filter,
    currency,
    amount,
    photos: await queries.photos.ofSpaces(results.spaces.map(({ space }) => space.spaceId)),
    links,
    actionsOf: (space) => actionsOf(space, filter),
  });
}

/** Says that nothing is found, with a link that leaves out all but the days. @param path of the search */
export const nothingOn = (wanted: FindFilter, path: string, what: 'room' | 'space'): Html =>
  emptyState(
    'search',
    'Nothing found',
    buttonLink(findPath(without(wanted, NARROWING), path), `All ${what}s on these days`, 'quiet'),
  )`No ${what} that is what you ask for on ${daysText(wanted.asked)}.`;

/** A page of the results. */
function resultList({ results, filter, currency, amount, photos, links, actionsOf }: Shown): Html {
  const { asked, page } = filter;
  const { total, free, spaces } = results;
  const last = Math.ceil(total / PER_PAGE);
  const to = (wanted: number) => links.results({ ...filter, page: wanted });
  const pageZone = onlyZone(spaces.map(({ space }) => space));
  const at = asked.hour === undefined ? '' : ` at ${clock(asked.hour)}`;
  const order = orderText(filter, amount);
  return html`<p class="muted">${counted(total, 'space')}, ${free} of them with a free time${at}. Free ones
first${order}.${pageZone && ` All times are ${zoneName(pageZone)}.`}</p>
<ul class="finds">${spaces.map((one) =>
    card(one, asked, {
      currency,
      amount,
      pageZone,
      links,
      photos: photos.get(one.space.spaceId) ?? [],
      actions: actionsOf(one.space),
    }),
  )}</ul>
${links.comparison !== undefined && compareForm(links.comparison)}
${pager(
  { previous: page > 1 ? to(page - 1) : undefined, next: page < last ? to(page + 1) : undefined },
  { previous: `Page ${page - 1}`, here: `Page ${page} of ${last}`, next: `Page ${page + 1}` },
)}`;
}

type Around = Pick<Shown, 'currency' | 'amount' | 'links'> & {
  readonly pageZone: string | undefined;
  readonly photos: readonly Photo[];
  readonly actions: Html;
};

function card(
  found: FoundSpace,
  asked: SpaceFilter,
  { currency, amount, pageZone, photos, links, actions }: Around,
): Html {
  const { space, price, freeDays = [] } = found;
  const date = freeDays[0]?.date ?? onlyDate(asked);
  const href = links.space(found, { ...(date && { date }), start: asked.hour });
  const isVaried = new Set(freeDays.map((day) => day.price)).size > 1;
  return html`<li class="find${freeDays.length === 0 && ' none'}">${coverOf(space, photos, { sizes: '(width < 40rem) 92vw, 14rem' })}
<div class="what"><h2><a href="${href}">${named(space.name)}</a></h2>
${whereLine(found, pageZone)}
${space.facts && html`<p class="muted small">${factsLine(space.facts)}</p>`}
${timesOf(found, asked, links)}
${actions}</div>
<p class="cost">${
    amount === undefined
      ? html`<span class="muted small">${duration(space.durationHours)}</span>`
      : html`<strong>${isVaried && 'from '}${amount(price, currency)}</strong>
<span class="muted small">for ${duration(space.durationHours)}, fees included</span>`
  }</p></li>`;
}

/** The house, where it is, how far away, and the rating. */
function whereLine({ space, communityName, house, km, rating }: FoundSpace, pageZone: string | undefined): Html {
  const city = house?.address?.city;
  return html`<p class="muted small">${named(communityName)}${city !== undefined && html`, ${named(city)}`}${
    space.timeZone !== pageZone && html`, ${zoneName(space.timeZone)}`
  }${km !== undefined && ` · ${km.toFixed(1)} km away`}${rating && html` · ${ratingText(rating)}`}</p>`;
}

/** The start times of the only day, or the days, on which the space is free. */
function timesOf(found: FoundSpace, asked: SpaceFilter, links: FindLinks): Html {
  const { space, freeDays = [] } = found;
  const [only, ...others] = freeDays;
  const isOneDay = onlyDate(asked) !== undefined;
  const days = isOneDay ? 'this day' : 'these days';
  if (only === undefined)
    return html`<p class="muted small">${space.active ? `No free time on ${days}.` : 'Not taking bookings at the moment.'}</p>`;
  if (isOneDay || (others.length === 0 && asked.hour === undefined))
    return hourLinks(found, only, asked.hour, links, isOneDay ? '' : `${dayAndMonth(only.date)}: `);
  return linkRow(
    space,
    'Free on',
    0,
    freeDays.map(({ date }) => ({
      href: links.time(found, { date, start: asked.hour }),
      label: dayAndMonth(date),
      isChosen: false,
    })),
  );
}

/** The start times around the chosen one, or the first ones. */
function hourLinks(
  found: FoundSpace,
  { date, openHours }: NonNullable<FoundSpace['freeDays']>[number],
  chosen: number | undefined,
  links: FindLinks,
  day: string,
): Html {
  const before = chosen === undefined ? 0 : openHours.indexOf(chosen) - SHOWN_HOURS / 2;
  const times = openHours.map((start) => ({
    href: links.time(found, { date, start }),
    label: clock(start),
    isChosen: start === chosen,
  }));
  return html`${day}${linkRow(found.space, 'Starts at', before, times)}`;
}

/** Some links from one on. The others appear in their places on request (`find.css`). */
function linkRow(
  space: Space,
  what: string,
  wanted: number,
  links: readonly { readonly href: string; readonly label: string; readonly isChosen: boolean }[],
): Html {
  const from = Math.max(0, Math.min(wanted, links.length - SHOWN_HOURS));
  const isShown = (index: number) => index >= from && index < from + SHOWN_HOURS;
  const more = links.length - SHOWN_HOURS;
  const where = html`<span class="visually-hidden"> in ${named(space.name)}</span>`;
  return html`<div class="open-hours"><span class="visually-hidden">${what} </span>${links.map(
    ({ href, label, isChosen }, index) =>
      html`<a class="hour${!isShown(index) && ' far'}" href="${href}"${isChosen && html` aria-current="true"`}>${label}</a>`,
  )}${
    more > 0 &&
    html`<details><summary><span class="less">and ${more} more</span><span class="all">show fewer</span>${where}</summary></details>`
  }</div>`;
}
