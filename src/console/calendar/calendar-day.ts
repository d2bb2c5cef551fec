import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Space } from '../../domain/space.ts';
import { type Html, html } from '../../html/html.ts';
import { type BookingCounts, type CountsBySpace, NO_BOOKINGS, totalOf } from '../../queries/calendar.ts';
import { pager, tabs } from '../parts/links.ts';
import { entry } from './calendar-month.ts';

/** Bookings that fit a page of 60 kB, with the free hours beside them. The row of a space counts as one more. */
const BOOKINGS_PER_PAGE = 150;

/** Spaces that are shown together, and the number of their bookings. */
export type Group = { readonly spaces: readonly Space[]; readonly counts: BookingCounts };

export const groupOf = (spaces: readonly Space[], bySpace: CountsBySpace): Group => ({
  spaces,
  counts: totalOf(spaces.map(({ spaceId }) => bySpace.get(spaceId) ?? NO_BOOKINGS)),
});

/** Divides the spaces, in their order, into groups of about the same size that each fit a page. Usually there is one group. */
export function groupsOf(spaces: readonly Space[], bySpace: CountsBySpace): readonly Group[] {
  const sizeOf = (some: readonly Space[]) => {
    const { pending, booked } = groupOf(some, bySpace).counts;
    return some.length + pending + booked;
  };
  const size = sizeOf(spaces);
  const count = Math.ceil(size / BOOKINGS_PER_PAGE);
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
