import { monthsLater } from '../../domain/calendar.ts';
import { type MonthOccupancy, type Occupancy, percentBooked } from '../../domain/occupancy.ts';
import { monthName, shortened, shortMonth } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { downloadLink } from '../parts/csv-file.ts';
import { figureTable } from './figure-table.ts';

/** Spaces that the first page shows. With the longest names the page is still less than 60 kB. */
export const MOST_SPACES = 20;

/** Lengths in pixels: of a bar, and of the space below it. */
const BAR = { height: 7, below: 2 } as const;
/** Characters of a name in the plot. The table has all of them. */
const MOST_OF_NAME = 40;

/** The bars of a space, which differ in their filling, as the key shows them. */
const BARS = [
  { name: 'this-month', label: 'this month', of: ({ current }: MonthOccupancy) => current },
  { name: 'month-before', label: 'the month before', of: ({ monthBefore }: MonthOccupancy) => monthBefore },
  { name: 'year-before', label: 'a year before', of: ({ yearBefore }: MonthOccupancy) => yearBefore },
] as const;

type OfMonth = {
  /** YYYY-MM. */
  readonly month: string;
  /** The spaces of the account, of which the view shows the first. */
  readonly count: number;
  /** The address of the same as a file. */
  readonly csv: string;
};

/** How much of the open hours of a month is booked in each space, against the month and the year before: a plot and a table. */
export function occupancyView(rows: readonly MonthOccupancy[], { month, count, csv }: OfMonth): Html {
  const title = `Occupancy in ${monthName(month)}`;
  return html`<section class="card full"><h2>${title}</h2>
<p class="muted small">Hours booked, of the hours in which each space is open. Closed times are not open; own events are not bookings.${
    count > rows.length && ` The first ${rows.length} of ${count} spaces.`
  } ${BARS.map(({ name, label }) => html`<span class="plot-key"><span class="${name}"></span> ${label}</span> `)}</p>
${plot(title, rows)}
${figureTable(title, rows, [
  { label: 'Space', cell: ({ space }) => named(space.name) },
  { label: 'Hours', cell: ({ current: { booked, open } }) => `${hourCount(booked)} of ${hourCount(open)}` },
  { label: 'Share', cell: ({ current }) => share(current) },
  { label: shortMonth(monthsLater(month, -1)), cell: ({ monthBefore }) => share(monthBefore) },
  { label: shortMonth(monthsLater(month, -12)), cell: ({ yearBefore }) => share(yearBefore) },
])}${downloadLink(csv)}</section>`;
}

/** Three bars for each space, each of which ends at 100 percent. */
function plot(title: string, rows: readonly MonthOccupancy[]): Html {
  const height = BARS.length * (BAR.height + BAR.below);
  const lines = [0, 50, 100].map((x) => html`<line x1="${x}%" x2="${x}%" y2="${height}"></line>`);
  const bars = (row: MonthOccupancy) =>
    BARS.map(({ name, of }, place) => {
      const width = Math.min(100, percentBooked(of(row)) ?? 0);
      const y = place * (BAR.height + BAR.below);
      return html`<rect class="${name}" y="${y}" width="${width}%" height="${BAR.height}"></rect>`;
    });
  return html`<div class="space-plots" role="img" aria-label="${title} by space, in percent. The table below has every figure.">${rows.map(
    (row) => html`<span class="small">${named(shortened(row.space.name, MOST_OF_NAME))}</span>
<svg class="month-plot" width="100%" height="${height}">${lines}${bars(row)}</svg>`,
  )}</div>`;
}

const hourCount = (hours: number): string => Number(hours.toFixed(1)).toLocaleString('en');

function share(occupancy: Occupancy): Html {
  const percent = percentBooked(occupancy);
  return percent === undefined ? html`<span class="muted">closed</span>` : html`${percent}%`;
}
