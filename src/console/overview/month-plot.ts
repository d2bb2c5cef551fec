import type { Account } from '../../domain/account.ts';
import { monthsLater } from '../../domain/calendar.ts';
import type { ChargeTotals } from '../../domain/charges.ts';
import { maxOf } from '../../domain/extremes.ts';
import { amount, monthName } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';
import { addressOf } from '../parts/links.ts';
import { figureTable } from './figure-table.ts';

const MONTHS = 12;

/** Lengths in pixels. Horizontally, the plot is as wide as its place, and its bars have parts of it. */
const PLOT = { top: 24, height: 150, labels: 22 } as const;
/** Percent of the width: of a month, of the space before its bars, of a bar. */
const WIDTH = { month: 100 / MONTHS, margin: 1, bar: 3 } as const;

/** The money of a month in one currency, and that of the month a year before. */
type MonthSums = { readonly month: string; readonly sum: number; readonly before: number };

/** What the plots of an account show. */
type Money = { readonly title: string; readonly what: string; of(totals: ChargeTotals): number };

const MONEY: { readonly [K in Account['kind']]: Money } = {
  Community: {
    title: 'Earnings',
    what: 'Event fees less refunds, in the month of the event.',
    of: ({ earned }) => earned,
  },
  Brand: {
    title: 'Charges',
    what: 'Charges less refunds, in the month of the event.',
    of: ({ charged, refunded }) => charged - refunded,
  },
};

/** The money of an account by month, of the last 12 months against the year before: a plot and a table for each currency. */
export async function moneyByMonth(
  charges: Pick<Queries['monthCharges']['ofEvents'], 'totals'>,
  account: Account,
  { month, currency }: { readonly month: string; readonly currency: string },
): Promise<Html> {
  const { title, what, of } = MONEY[account.kind];
  const months = Array.from({ length: 2 * MONTHS }, (_, index) => monthsLater(month, index + 1 - 2 * MONTHS));
  const totals = await Promise.all(months.map((one) => charges.totals(account, one)));
  const currencies = new Set(totals.flat().map((each) => each.currency));
  if (currencies.size === 0) currencies.add(currency);
  const sumOf = (index: number, currency: string) => {
    const found = totals[index]?.find((each) => each.currency === currency);
    return found === undefined ? 0 : of(found);
  };
  const views = [...currencies].sort().map((currency) => {
    const list = months.slice(MONTHS).map((month, index) => ({
      month,
      sum: sumOf(MONTHS + index, currency),
      before: sumOf(index, currency),
    }));
    return html`${plot(title, currency, list)}${monthTable(title, currency, list)}`;
  });
  return html`<section class="card full"><h2>${title} by month</h2>
<p class="muted small">${what} <span class="plot-key"><span class="this-year"></span> these months</span>
<span class="plot-key"><span class="year-before"></span> a year before</span></p>${views}</section>`;
}

/** Two bars for each month: an outline for the year before, a solid one for this year. */
function plot(title: string, currency: string, months: readonly MonthSums[]): Html {
  const highest = maxOf(months.flatMap(({ sum, before }) => [sum, before]));
  const bottom = PLOT.top + PLOT.height;
  const bars = months.map(({ month, sum, before }, index) => {
    const left = index * WIDTH.month + WIDTH.margin;
    const bar = (value: number, x: number, name: string) => {
      const height = highest <= 0 ? 0 : Math.round((PLOT.height * Math.max(0, value)) / highest);
      const place = html`x="${x.toFixed(2)}%" y="${bottom - height}" width="${WIDTH.bar}%" height="${height}"`;
      return html`<rect class="${name}" ${place}></rect>`;
    };
    const middle = (left + WIDTH.bar).toFixed(2);
    return html`${bar(before, left, 'year-before')}${bar(sum, left + WIDTH.bar, 'this-year')}
<text x="${middle}%" y="${bottom + 16}" text-anchor="middle">${shortMonth(month).slice(0, 3)}</text>`;
  });
  return html`<svg class="month-plot" role="img" aria-label="${described(title, currency, months)}"
width="100%" height="${bottom + PLOT.labels}"><text x="0" y="14">${amount(highest, currency)}</text>
<line x1="0" x2="100%" y1="${PLOT.top}" y2="${PLOT.top}"></line>${bars}
<line class="base" x1="0" x2="100%" y1="${bottom}" y2="${bottom}"></line></svg>`;
}

/** The plot in words. */
function described(title: string, currency: string, months: readonly MonthSums[]): string {
  const [first, last] = [months[0], months.at(-1)];
  const [highest] = months.toSorted((a, b) => b.sum - a.sum);
  if (first === undefined || last === undefined || highest === undefined) return title;
  const total = (of: (sums: MonthSums) => number) =>
    amount(
      months.reduce((sum, one) => sum + of(one), 0),
      currency,
    );
  return `${title} by month, ${monthName(first.month)} to ${monthName(last.month)}: ${total(({ sum }) => sum)} in all,
after ${total(({ before }) => before)} in the year before. The highest month is ${monthName(highest.month)}
with ${amount(highest.sum, currency)}. The table below has every month.`;
}

/** `Nov 2026` */
const shortMonth = (month: string): string => `${monthName(month).slice(0, 3)} ${month.slice(0, 4)}`;

const monthTable = (title: string, currency: string, months: readonly MonthSums[]): Html =>
  figureTable(`${title} by month in ${currency}`, months, [
    {
      label: 'Month',
      cell: ({ month }) =>
        html`<a class="nowrap" href="${addressOf('/console/charges', { month })}">${shortMonth(month)}</a>`,
    },
    { label: title, cell: ({ sum }) => amount(sum, currency) },
    { label: 'Year before', cell: ({ before }) => amount(before, currency) },
  ]);
