import { localMonth } from '../../domain/calendar.ts';
import type { MonthMoney } from '../../domain/charges.ts';
import { type MonthOccupancy, percentBooked } from '../../domain/occupancy.ts';
import { csvOf, sumColumn } from '../parts/csv-file.ts';
import { aboutAmounts, type ConsoleRoutes, type PageDeps } from '../parts/routes.ts';
import { MONEY, shownMonths } from './month-plot.ts';

export const MONEY_CSV = '/console/overview/money.csv';
export const OCCUPANCY_CSV = '/console/overview/occupancy.csv';

/** The tables of the overview as files of the last twelve months; the occupancy is that of all spaces. */
export function overviewFiles(routes: ConsoleRoutes, { queries }: PageDeps): void {
  routes.get(
    MONEY_CSV,
    'Viewer',
    aboutAmounts(async ({ account, accountZone, now, settings }) => {
      const months = shownMonths(localMonth(now, accountZone));
      const { title } = MONEY[account.kind];
      return csvOf<MonthMoney>({
        name: `${title.toLowerCase()}-${months[0]}-to-${months.at(-1)}`,
        rowName: 'month',
        pages: pageOf(() => queries.report.money(account, months, settings.currency)),
        columns: [
          { label: 'Month', cell: ({ month }) => month },
          { label: 'Currency', isCurrency: true, cell: ({ currency }) => currency },
          sumColumn(title, ({ sum }) => sum),
          sumColumn('A year before', ({ yearBefore }) => yearBefore),
        ],
      });
    }),
  );

  routes.community.get(OCCUPANCY_CSV, 'Viewer', async ({ account, accountZone, now }) => {
    const months = shownMonths(localMonth(now, accountZone));
    const spaces = await queries.spaces.list(account);
    return csvOf<MonthOccupancy>({
      name: `occupancy-${months[0]}-to-${months.at(-1)}`,
      rowName: 'line',
      pages: queries.report.occupancy(account.id, months, spaces),
      columns: [
        { label: 'Month', cell: ({ month }) => month },
        { label: 'Space', cell: ({ space }) => space.name },
        { label: 'Open hours', cell: ({ current }) => current.open },
        { label: 'Booked hours', cell: ({ current }) => current.booked },
        { label: 'Percent booked', cell: ({ current }) => percentBooked(current) },
        { label: 'Percent the month before', cell: ({ monthBefore }) => percentBooked(monthBefore) },
        { label: 'Percent a year before', cell: ({ yearBefore }) => percentBooked(yearBefore) },
      ],
    });
  });
}

async function* pageOf<T>(read: () => Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  yield await read();
}
