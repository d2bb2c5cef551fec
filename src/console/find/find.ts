import type { Account } from '../../domain/account.ts';
import { daysLater } from '../../domain/calendar.ts';
import type { Community } from '../../domain/community.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { HOUR } from '../../domain/limits.ts';
import { priceOf } from '../../domain/pricing.ts';
import { folded, isCalled, wordsOf } from '../../domain/searched-text.ts';
import type { Space } from '../../domain/space.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import { dateField, field, formProblem, hasProblems, type Problems, select, statusOf } from '../parts/fields.ts';
import { amount, clock, counted, duration, longDate, shortDate, zoneName } from '../parts/formats.ts';
import { initialOf } from '../parts/initial.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { pager } from '../parts/pager.ts';
import type { Routes, Visit } from '../parts/visit.ts';
import { earliestDate, type FindFilter, findPath, findQuery, readFilter } from './find-filter.ts';
import { requestPages, spacePath } from './space-page.ts';

const PER_PAGE = 20;
/** Start times of a space that the list shows; the rest is behind a link. */
const SHOWN_HOURS = 6;
/** How far ahead a free day is looked for when nothing was found. */
const LOOK_AHEAD_DAYS = 60;

/** A space that the filter finds, with the hours at which an event can start on its date. */
type Found = { readonly space: Space; readonly total: number; readonly openHours: readonly number[] };

/** Where a brand finds a space: by date, start time, community, price and name. */
export function findPages(routes: Routes, deps: PageDeps): void {
  const { queries, settings } = deps;
  const { currency } = settings;
  requestPages(routes, deps);

  routes.get(
    '/console/find',
    async (visit) => {
      const [spaces, communities] = await Promise.all([
        queries.spaces.list(visit.account),
        queries.spaces.communities(),
      ]);
      const { filter, problems } = readFilter(visit.query, visit.now, communities);
      const isRead = !hasProblems(problems);
      const all = isRead ? await openOn(visit.account, spaces, filter.date) : [];
      const found = all.filter((one) => matches(one, filter)).sort(byPrice);
      const results =
        spaces.length === 0
          ? html`<div class="empty">${icon('space')}<h2>No spaces yet</h2><p>Spaces appear here as soon as a community adds one.</p></div>`
          : isRead
            ? found.length === 0
              ? await nothingFound(visit.account, all, filter, communities)
              : resultList(found, filter, communities)
            : html`<div class="empty">${icon('search')}<h2>Nothing was searched for yet</h2><p>Correct what is pointed out above.</p></div>`;
      return {
        title: 'Find a space',
        section: 'find',
        status: statusOf(problems),
        main: html`<div class="head"><div><h1>Find a space</h1><p class="lead">Start times on ${longDate(filter.date)}, in each space’s local time.</p></div></div>
${filterForm(visit, filter, communities, problems)}
${results}`,
      };
    },
    'Brand',
  );

  /** What spaces cost, and when an event can start there on a date. */
  async function openOn(account: Account, spaces: readonly Space[], date: PlainDate): Promise<readonly Found[]> {
    const hours = new Map<number, readonly number[]>();
    let after: Parameters<typeof queries.openDays>[0]['after'];
    do {
      const page = await queries.openDays({
        account,
        from: date,
        to: date,
        limit: spaces.length + 1,
        ...(after && { after }),
      });
      if (isRefusal(page)) break;
      for (const { space, openHours } of page.days) hours.set(space.spaceId, openHours);
      after = page.next;
    } while (after !== undefined);
    return spaces.map((space) => ({
      space,
      total: priceOf(space.eventFee, settings.serviceFeePercent).totalPrice,
      openHours: hours.get(space.spaceId) ?? [],
    }));
  }

  const filterForm = (
    { query, now }: Visit,
    filter: FindFilter,
    communities: readonly Community[],
    problems: Problems,
  ): Html => html`<form class="card fields" method="get" action="/console/find">${formProblem(problems)}<div class="find-filter">
${dateField({ name: 'date', label: 'Date', value: query.text('date') || filter.date, required: true, problems, earliest: earliestDate(now) })}
${select({
  name: 'hour',
  label: 'Start time',
  value: query.text('hour'),
  problems,
  options: [
    { value: '', label: 'Any start time' },
    ...Array.from({ length: HOUR.max + 1 }, (_, hour) => ({ value: String(hour), label: clock(hour) })),
  ],
})}
${select({
  name: 'community',
  label: 'Community',
  value: query.text('community'),
  problems,
  options: [
    { value: '', label: 'All communities' },
    ...communities.map(({ communityId, name }) => ({ value: String(communityId), label: namedText(name) })),
  ],
})}
${field({ name: 'max', label: `Price up to (${currency})`, value: query.text('max'), problems, attributes: { inputmode: 'decimal', autocomplete: 'off' } })}
${field({ name: 'name', label: 'Name contains', value: query.text('name'), problems, attributes: { autocomplete: 'off' } })}
</div><div class="row"><button class="button">Find spaces</button>${narrowed(filter) > 0 && html`<a class="button quiet" href="${findPath({ date: filter.date, page: 1 })}">Clear the filter</a>`}</div></form>`;

  function resultList(found: readonly Found[], filter: FindFilter, communities: readonly Community[]): Html {
    const free = found.filter(({ openHours }) => openHours.length > 0).length;
    const last = Math.ceil(found.length / PER_PAGE);
    const page = Math.min(filter.page, last);
    const shown = found.slice((page - 1) * PER_PAGE, page * PER_PAGE);
    const of = new Map(communities.map((one) => [one.communityId, one]));
    const to = (wanted: number) => findPath({ ...filter, page: wanted });
    return html`<p class="muted">${counted(found.length, 'space')}, ${free} of them with a free time${filter.hour === undefined ? '' : ` at ${clock(filter.hour)}`}. Free ones first, by price.</p>
<ul class="finds">${shown.map((one) => row(one, of.get(one.space.communityId), { ...filter, page }))}</ul>
${pager(
  { previous: page > 1 ? to(page - 1) : undefined, next: page < last ? to(page + 1) : undefined },
  { previous: `Page ${page - 1}`, here: `Page ${page} of ${last}`, next: `Page ${page + 1}` },
)}`;
  }

  function row({ space, total, openHours }: Found, community: Community | undefined, filter: FindFilter): Html {
    const to = (start: number | undefined) =>
      spacePath(space.spaceId, { date: filter.date, start, back: findQuery(filter) });
    // The chosen hour is always among those that are shown.
    const first = openHours.slice(0, SHOWN_HOURS);
    const { hour } = filter;
    const shown = hour === undefined || first.includes(hour) ? first : [hour, ...first.slice(0, SHOWN_HOURS - 1)];
    const more = openHours.length - shown.length;
    return html`<li class="find${openHours.length === 0 && ' none'}">${initialOf(space)}
<div class="what"><h2><a href="${to(hour)}">${named(space.name)}</a></h2><p class="muted small">${community && html`${named(community.name)}, `}${zoneName(space.timeZone)}</p>
${
  !space.active
    ? html`<p class="muted small">Not taking bookings at the moment.</p>`
    : openHours.length === 0
      ? html`<p class="muted small">No free time on this day.</p>`
      : html`<p class="open-hours"><span class="visually-hidden">Starts at </span>${shown.map((start) => html`<a class="hour" href="${to(start)}">${clock(start)}</a>`)}${more > 0 && html`<a class="more" href="${to(hour)}#hours">and ${more} more</a>`}</p>`
}</div>
<p class="cost"><strong>${amount(total, currency)}</strong> <span class="muted small">for ${duration(space.durationHours)}, fees included</span></p></li>`;
  }

  /** Says which part of the filter to change, with what each change would find, and when there is a free day. */
  async function nothingFound(
    account: Account,
    all: readonly Found[],
    filter: FindFilter,
    communities: readonly Community[],
  ): Promise<Html> {
    const { hour, communityId, most, name, ...rest } = filter;
    const date = filter.date;
    const without = [
      { is: hour, label: 'Any start time', filter: { ...filter, hour: undefined } },
      { is: most, label: 'Any price', filter: { ...filter, most: undefined } },
      { is: communityId, label: 'All communities', filter: { ...filter, communityId: undefined } },
      { is: name, label: 'Any name', filter: { ...filter, name: undefined } },
      { is: narrowed(filter) > 1 || undefined, label: 'Everything on this day', filter: rest },
    ].flatMap(({ is, label, filter: wider }) => {
      const count = is === undefined ? 0 : all.filter((one) => matches(one, wider)).length;
      const href = findPath({ ...defined(wider), page: 1 });
      return count === 0 ? [] : [html`<li><a href="${href}">${label}: ${counted(count, 'space')}</a></li>`];
    });
    const soon = hour === undefined ? undefined : await nextDay(account, all, filter, hour);
    const community = communities.find((one) => one.communityId === communityId);
    const wanted = [
      community && html` of ${named(community.name)}`,
      name !== undefined && html` with “${named(name)}” in its name`,
      most !== undefined && html` for up to ${amount(most, currency)}`,
      hour !== undefined && html` is free at ${clock(hour)}`,
    ];
    return html`<div class="empty">${icon('search')}<h2>Nothing found</h2><p>No space${wanted} on ${longDate(date)}.</p>
<p>Change one thing:</p><ul class="bullets">${soon && html`<li><a href="${findPath({ ...filter, date: soon, page: 1 })}">Another day: ${shortDate(soon)} is the next with ${clock(hour ?? 0)} free</a></li>`}${without}</ul></div>`;
  }

  /** The next day on which a space that matches otherwise is free at the hour. */
  async function nextDay(account: Account, all: readonly Found[], filter: FindFilter, hour: number) {
    const { hour: _, ...rest } = filter;
    const spaceIds = all.filter((one) => matches(one, rest)).map(({ space }) => space.spaceId);
    if (spaceIds.length === 0) return undefined;
    const [from, to] = [daysLater(filter.date, 1), daysLater(filter.date, LOOK_AHEAD_DAYS)];
    const page = await queries.openDays({ account, spaceIds, from, to, startHour: hour, limit: 1 });
    return isRefusal(page) ? undefined : page.days[0]?.date;
  }
}

/** By how many things besides the date. */
const narrowed = ({ hour, communityId, most, name }: FindFilter): number =>
  [hour, communityId, most, name].filter((one) => one !== undefined).length;

type Looser = { readonly [F in keyof FindFilter]: FindFilter[F] | undefined };

function matches({ space, total, openHours }: Found, { hour, communityId, most, name }: Partial<Looser>): boolean {
  return (
    (hour === undefined || openHours.includes(hour)) &&
    (communityId === undefined || space.communityId === communityId) &&
    (most === undefined || total <= most) &&
    (name === undefined || isCalled([folded(space.name)], wordsOf(name)))
  );
}

const byPrice = (a: Found, b: Found): number =>
  Number(b.openHours.length > 0) - Number(a.openHours.length > 0) ||
  a.total - b.total ||
  a.space.spaceId - b.space.spaceId;
