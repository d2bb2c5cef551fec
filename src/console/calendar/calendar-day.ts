import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { concerns } from '../../domain/closure.ts';
import { type DayTerms, isInside, termsOn } from '../../domain/day-terms.ts';
import { maxOf, minOf } from '../../domain/extremes.ts';
import type { PlainDate, SpaceId } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type BookingCounts, NO_BOOKINGS } from '../../queries/calendar.ts';
import { statusClass } from '../parts/booking-views.ts';
import { clock, hours, longDate } from '../parts/formats.ts';
import { pager, tabs } from '../parts/links.ts';
import { entry } from './calendar-month.ts';
import { CLOSURES, titleOf } from './closures.ts';

/** Bookings that fit a page of 60 kB. The column of a space counts as one more. */
const AT_ONCE = 150;

/** Spaces that are shown together, and the number of their bookings. */
export type Group = { readonly spaces: readonly Space[]; readonly counts: BookingCounts };

type BySpace = ReadonlyMap<SpaceId, BookingCounts>;

export const groupOf = (spaces: readonly Space[], bySpace: BySpace): Group => {
  const counts = spaces.map(({ spaceId }) => bySpace.get(spaceId) ?? NO_BOOKINGS);
  const sum = (field: keyof BookingCounts) => counts.reduce((total, one) => total + one[field], 0);
  return { spaces, counts: { pending: sum('pending'), booked: sum('booked') } };
};

/** Divides the spaces, in their order, into groups of about the same size that each fit a page. Usually there is one group. */
export function groupsOf(spaces: readonly Space[], bySpace: BySpace): readonly Group[] {
  const sizeOf = (some: readonly Space[]) => {
    const { pending, booked } = groupOf(some, bySpace).counts;
    return some.length + pending + booked;
  };
  const size = sizeOf(spaces);
  const count = Math.ceil(size / AT_ONCE);
  let before = 0;
  const numberOf = (space: Space) => {
    const own = sizeOf([space]);
    const middle = before + own / 2;
    before += own;
    return Math.floor((middle * count) / size);
  };
  return [...Map.groupBy(spaces, numberOf).values()].map((some) => groupOf(some, bySpace));
}

/** The spaces shown, and links to the others. */
export function groupTabs(
  groups: readonly Group[],
  current: number,
  total: number,
  href: (group: number | 'all') => string,
): Html | undefined {
  if (groups.length < 2) return undefined;
  const label = (index: number, { counts: { pending } }: Group) =>
    html`<span class="visually-hidden">Spaces </span>${numbersOf(groups, index)}${
      pending > 0 && html`<span class="small"> · ${pending} pending</span>`
    }`;
  return html`<div class="stack tight" id="day-groups" data-live-region>
<p>This day is busy: ${groups[current]?.spaces.length} of ${total} spaces are shown at a time.
<a class="on-screen" href="${href('all')}">Show all, to print them</a></p>${tabs(
    'Groups of spaces',
    groups.map((group, index) => ({
      label: label(index, group),
      href: href(index + 1),
      current: index === current,
    })),
  )}</div>`;
}

/** At the end of a group of spaces, the links to the groups before and after. */
export function groupPager(
  groups: readonly Group[],
  current: number,
  href: (group: number) => string,
): Html | undefined {
  return pager(
    {
      previous: current > 0 ? href(current) : undefined,
      next: current + 1 < groups.length ? href(current + 2) : undefined,
    },
    {
      label: 'More spaces',
      previous: `Spaces ${numbersOf(groups, current - 1)}`,
      next: `Spaces ${numbersOf(groups, current + 1)}`,
    },
  );
}

/** `11–20`: the numbers of a group's spaces among all. */
function numbersOf(groups: readonly Group[], index: number): string {
  const before = groups.slice(0, index).reduce((sum, { spaces }) => sum + spaces.length, 0);
  const count = groups[index]?.spaces.length ?? 0;
  return count === 1 ? String(before + 1) : `${before + 1}–${before + count}`;
}

/**
 * One column per space, one row per hour; a booking spans the hours that it occupies. On a phone it is a list of the bookings, by
 * hour (`calendar.css`).
 * @param hourNow the hour that the clocks of the spaces show, on this day only
 * @param spaceHref the link of a heading: the day of that space alone
 */
export function dayTable(
  spaces: readonly Space[],
  bookings: readonly BookingDocument[],
  date: PlainDate,
  hourNow: number | undefined,
  spaceHref: ((space: Space) => string) | undefined,
  closures: readonly ReadableClosure[],
): Html {
  const terms = spaces.map((space) => termsOn(space, date));
  const first = minOf([...terms.map(({ windowStart }) => windowStart), ...bookings.map(({ startHour }) => startHour)]);
  const end = maxOf([
    ...terms.map(({ windowEnd }) => windowEnd),
    ...bookings.map(({ freeFrom }) => Math.ceil(freeFrom)),
  ]);
  const rows = Array.from({ length: end - first }, (_, index) => first + index);
  const bySpace = Map.groupBy(bookings, ({ spaceId }) => spaceId);
  const columns = terms.map((space) =>
    columnOf(space, bySpace.get(space.spaceId) ?? [], closedOn(closures, space.spaceId, date), first, end),
  );
  const closedHere = closures.filter((one) => spaces.some(({ spaceId }) => closedOn([one], spaceId, date).length > 0));
  const busy = new Set(bookings.map(({ startHour }) => startHour));
  const about = `Schedule for ${longDate(date)}`;
  const free = spaces.filter(({ spaceId }) => !bySpace.has(spaceId));
  // Updates replace only the content of the scrolling element, so its scroll position stays.
  return html`<div class="scroll schedule" id="day" data-live-region tabindex="0" role="region" aria-label="${about}">
<p class="in-list muted">${aboutList(bookings.length)}</p>${closedHere.map(closedLine)}
<table class="day-table"><caption class="visually-hidden">${about}</caption>
<thead><tr><th scope="col"><span class="visually-hidden">Hour</span></th>${spaces.map((space) => heading(space, spaceHref))}</tr></thead>
<tbody>${rows.map(
    (hour) =>
      html`<tr class="${!busy.has(hour) && 'free'}${hour === hourNow && ' now'}"><th scope="row">${clock(hour)}</th>
${columns.map((cells) => cells.get(hour))}</tr>`,
  )}</tbody></table>${
    free.length > 0 &&
    html`<p class="on-paper">Nothing booked: ${free.map(({ name }, index) => html`${index > 0 && ', '}${named(name)}`)}</p>`
  }</div>`;
}

/** Above the list that a phone shows instead of the schedule. */
const aboutList = (count: number): string =>
  count === 0
    ? 'Nothing is booked here on this day.'
    : 'What is booked, by hour. Not to scale: free hours are left out.';

const heading = (space: Space, href: ((space: Space) => string) | undefined): Html => {
  const name = named(space.name);
  return html`<th scope="col">${
    href === undefined ? name : html`<a href="${href(space)}">${name}</a>`
  }${!space.active && html` <span class="muted small">Closed</span>`}</th>`;
};

/** The cells of a space, each at the hour where it begins: bookings, hours that are free, and times when it is closed. */
function columnOf(
  space: DayTerms,
  bookings: readonly BookingDocument[],
  closures: readonly ReadableClosure[],
  first: number,
  end: number,
): ReadonlyMap<number, Html | undefined> {
  const cells = new Map<number, Html | undefined>();
  const starting = new Map(bookings.map((booking) => [booking.startHour, booking]));
  const isOpen = (hour: number) => space.active && !space.isClosedDay && isInside(space, hour);
  const closedAt = (hour: number) => closures.find(({ start, until }) => start <= hour && hour < until);
  for (let hour = first; hour < end; ) {
    const here = starting.get(hour);
    let until = hour + 1;
    if (here !== undefined) {
      until = Math.max(until, Math.ceil(here.freeFrom));
      cells.set(hour, bookingCell(here, until - hour));
    } else if (closedAt(hour) !== undefined) {
      const closure = closedAt(hour);
      while (until < end && closedAt(until) === closure && !starting.has(until)) until += 1;
      cells.set(hour, closure && closedCell(closure, until - hour));
    } else if (isOpen(hour)) {
      cells.set(hour, FREE);
    } else {
      while (until < end && !isOpen(until) && closedAt(until) === undefined && !starting.has(until)) until += 1;
      cells.set(hour, html`<td${rowspan(until - hour)} class="shut"><span class="visually-hidden">Closed</span></td>`);
    }
    hour = until;
  }
  return cells;
}

/** The closed times and own events that hold hours of a space on a date. */
const closedOn = (closures: readonly ReadableClosure[], id: SpaceId, date: PlainDate): readonly ReadableClosure[] =>
  closures.filter(
    (closure) =>
      concerns(closure, { spaceId: id, date }) &&
      !closure.leftOut.some((day) => day.spaceId === id && day.date === date),
  );

/** A closed time or own event in the list that a phone shows. */
const closedLine = (closure: ReadableClosure): Html =>
  html`<p class="in-list">${hours(closure.start, closure.until)}
<a href="${CLOSURES}/${closure.closureId}">${named(titleOf(closure))}</a></p>`;

const closedCell = (closure: ReadableClosure, rows: number): Html =>
  html`<td${rowspan(rows)} class="${closure.kind === 'OwnEvent' ? 'own-event' : 'shut'}">
<a class="why" href="${CLOSURES}/${closure.closureId}">${named(titleOf(closure))}</a></td>`;

const FREE = html`<td></td>`;

const rowspan = (rows: number): Html | undefined => (rows > 1 ? html` rowspan="${rows}"` : undefined);

const bookingCell = (booking: BookingDocument, rows: number): Html => {
  const time = html`<span class="time">${hours(booking.startHour, booking.freeFrom)}</span>`;
  const words = html`<span class="word">${booking.status}</span> <span class="where">${named(booking.spaceName)}</span>`;
  const link = html`<a href="/console/bookings/${booking.bookingId}">${named(booking.brandName)} ${time} ${words}</a>`;
  return html`<td${rowspan(rows)} class="held ${statusClass(booking.status)}">${link}</td>`;
};

/** The declined, withdrawn, cancelled and expired bookings of the day: the first ones. The list of bookings has the rest. */
export function cancelledList(
  { first, count }: { readonly first: readonly BookingDocument[]; readonly count: number },
  date: string,
): Html | undefined {
  if (count === 0) return undefined;
  const more = count - first.length;
  return html`<section class="stack tight"><h2>No longer booked</h2><ul class="entries">${first.map(
    (booking) => html`<li>${entry(booking, true)}</li>`,
  )}</ul>${
    more > 0 &&
    html`<p class="small"><a href="/console/bookings?from=${date}&to=${date}">${more} more: see all bookings of this day</a></p>`
  }</section>`;
}
