import { datesBetween, daysOfMonth } from '../../domain/calendar.ts';
import { type Occupancy, openHoursOn, percentBooked } from '../../domain/occupancy.ts';
import type { Space } from '../../domain/space.ts';
import { yieldEvery } from '../../event-loop/slices.ts';
import { monthName } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { figureTable } from './figure-table.ts';

/** Spaces in the table. With the longest names the page is still less than 60 kB. */
const MOST_SPACES = 20;

type SpaceOccupancy = Occupancy & { readonly space: Space };

/** How many of the open hours of a month are booked in each of the first spaces. Undefined if there are none. */
export async function occupancyView(
  queries: Queries,
  { account }: CommunityVisit,
  month: string,
  spaces: readonly Space[],
): Promise<Html | undefined> {
  const shown = spaces.slice(0, MOST_SPACES);
  if (shown.length === 0) return undefined;
  const rows = await occupancyOf(queries, account.id, month, shown);
  const more = spaces.length - shown.length;
  return html`<section class="card full"><h2>Occupancy in ${monthName(month)}</h2>
<p class="muted small">Hours booked, of the hours in which each space is open. Closed times are not open; own events are not bookings.${
    more > 0 && ` The first ${shown.length} of ${spaces.length} spaces.`
  }</p>
${figureTable(`Occupancy in ${monthName(month)}`, rows, [
  { label: 'Space', cell: ({ space }) => named(space.name) },
  { label: 'Booked', cell: ({ booked, open }) => `${hourCount(booked)} of ${hourCount(open)} h` },
  { label: 'Share', cell: share },
])}</section>`;
}

async function occupancyOf(
  { closures, calendar, overview }: Queries,
  community: CommunityVisit['account']['id'],
  month: string,
  spaces: readonly Space[],
): Promise<readonly SpaceOccupancy[]> {
  const { startDate: from, endDate: to } = daysOfMonth(month);
  const dates = [...datesBetween(from, to)];
  const ids = spaces.map(({ spaceId }) => spaceId);
  const [listed, booked] = await Promise.all([
    closures.list(community, from, to),
    overview.bookedHours(community, ids, { from, to }),
  ]);
  const closed = await calendar.closuresOn(dates, listed, ids);
  const nextSlice = yieldEvery(1);
  const rows: SpaceOccupancy[] = [];
  for (const space of spaces) {
    await nextSlice();
    const { spaceId } = space;
    const closedOn = (date: (typeof dates)[number]) =>
      (closed.get(date) ?? []).flatMap(({ closure, spaceIds }) => (spaceIds.includes(spaceId) ? [closure] : []));
    const open = dates.reduce((sum, date) => sum + openHoursOn(space, date, closedOn(date)), 0);
    rows.push({ space, open, booked: booked.get(spaceId) ?? 0 });
  }
  return rows;
}

const hourCount = (hours: number): string => Number(hours.toFixed(1)).toLocaleString('en');

/** The percentage, and a bar of it, which ends at 100. */
function share(occupancy: Occupancy): Html {
  const percent = percentBooked(occupancy);
  if (percent === undefined) return html`<span class="muted">closed</span>`;
  return html`<span class="share"><svg class="share-bar" aria-hidden="true">
<rect class="whole" width="100%" height="100%"></rect><rect class="part" width="${Math.min(100, percent)}%" height="100%"></rect></svg>
<span>${percent}%</span></span>`;
}
