import type { Account } from '../../domain/account.ts';
import { monthsBetween, monthsLater } from '../../domain/calendar.ts';
import type { MonthMoney } from '../../domain/charges.ts';
import { maxOf } from '../../domain/extremes.ts';
import { monthName, shortMonth } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import { downloadLink } from '../parts/csv-file.ts';
import { addressOf } from '../parts/links.ts';
import type { AmountFormat } from '../parts/visit.ts';
import { figureTable } from './figure-table.ts';

const MONTHS = 12;

/** The months that an overview shows, the last of which is this one (YYYY-MM). */
export const shownMonths = (month: string): readonly string[] => monthsBetween(monthsLater(month, 1 - MONTHS), month);

/** Lengths in pixels. Horizontally, the plot is as wide as its place, and its bars have parts of it. */
const PLOT = { top: 24, height: 150, labels: 22 } as const;
/** Percent of the width: of a month, of the space before its bars, of a bar. */
const WIDTH = { month: 100 / MONTHS, margin: 1, bar: 3 } as const;

type Shown = { readonly title: string; readonly currency: string; readonly amount: AmountFormat };

/** What the money of an account is called. */
export const MONEY: { readonly [K in Account['kind']]: { readonly title: string; readonly what: string } } = {
  Community: { title: 'Earnings', what: 'Event fees less refunds, in the month of the event.' },
  Brand: { title: 'Charges', what: 'Charges less refunds, in the month of the event.' },
};

/** The money of an account by month against the year before: a plot and a table for each currency. @param csv the same as a file */
export function moneyView(
  { account, amount }: { readonly account: Account; readonly amount: AmountFormat },
  money: readonly MonthMoney[],
  csv: string,
): Html {
  const { title, what } = MONEY[account.kind];
  const views = [...Map.groupBy(money, ({ currency }) => currency)].map(([currency, months]) => {
    const shown = { title, currency, amount };
    return html`${plot(shown, months)}${monthTable(shown, months)}`;
  });
  return html`<section class="card full"><h2>${title} by month</h2>
<p class="muted small">${what} <span class="plot-key"><span class="this-year"></span> these months</span>
<span class="plot-key"><span class="year-before"></span> a year before</span></p>${views}${downloadLink(csv)}</section>`;
}

/** Two bars for each month: an outline for the year before, a solid one for this year. */
function plot(shown: Shown, months: readonly MonthMoney[]): Html {
  const { amount, currency } = shown;
  const highest = maxOf(months.flatMap(({ sum, yearBefore }) => [sum, yearBefore]));
  const bottom = PLOT.top + PLOT.height;
  const bars = months.map(({ month, sum, yearBefore }, index) => {
    const left = index * WIDTH.month + WIDTH.margin;
    const bar = (value: number, x: number, name: string) => {
      const height = highest <= 0 ? 0 : Math.round((PLOT.height * Math.max(0, value)) / highest);
      const place = html`x="${x.toFixed(2)}%" y="${bottom - height}" width="${WIDTH.bar}%" height="${height}"`;
      return html`<rect class="${name}" ${place}></rect>`;
    };
    const middle = (left + WIDTH.bar).toFixed(2);
    return html`${bar(yearBefore, left, 'year-before')}${bar(sum, left + WIDTH.bar, 'this-year')}
<text x="${middle}%" y="${bottom + 16}" text-anchor="middle">${shortMonth(month).slice(0, 3)}</text>`;
  });
  return html`<svg class="month-plot" role="img" aria-label="${described(shown, months)}"
width="100%" height="${bottom + PLOT.labels}"><text x="0" y="14">${amount(highest, currency)}</text>
<line x1="0" x2="100%" y1="${PLOT.top}" y2="${PLOT.top}"></line>${bars}
<line class="base" x1="0" x2="100%" y1="${bottom}" y2="${bottom}"></line></svg>`;
}

/** The plot in words. */
function described({ title, currency, amount }: Shown, months: readonly MonthMoney[]): string {
  const [first, last] = [months[0], months.at(-1)];
  const [highest] = months.toSorted((a, b) => b.sum - a.sum);
  if (first === undefined || last === undefined || highest === undefined) return title;
  const total = (of: (money: MonthMoney) => number) =>
    amount(
      months.reduce((sum, one) => sum + of(one), 0),
      currency,
    );
  return `${title} by month, ${monthName(first.month)} to ${monthName(last.month)}: ${total(({ sum }) => sum)} in all,
after ${total(({ yearBefore }) => yearBefore)} in the year before. The highest month is ${monthName(highest.month)}
with ${amount(highest.sum, currency)}. The table below has every month.`;
}

const monthTable = ({ title, currency, amount }: Shown, months: readonly MonthMoney[]): Html =>
  figureTable(`${title} by month in ${currency}`, months, [
    {
      label: 'Month',
      cell: ({ month }) =>
        html`<a class="nowrap" href="${addressOf('/console/charges', { month })}">${shortMonth(month)}</a>`,
    },
    { label: title, cell: ({ sum }) => amount(sum, currency) },
    { label: 'Year before', cell: ({ yearBefore }) => amount(yearBefore, currency) },
  ]);
