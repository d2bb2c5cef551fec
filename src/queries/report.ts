import type { Account } from '../domain/account.ts';
import { datesBetween, daysOfMonth, monthsLater } from '../domain/calendar.ts';
import type { ChargeTotals, MonthMoney } from '../domain/charges.ts';
import { type Cents, type CommunityId, cents, type SpaceId } from '../domain/ids.ts';
import { type MonthOccupancy, type Occupancy, openHoursOn } from '../domain/occupancy.ts';
import type { Space } from '../domain/space.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import type { createCalendarQueries } from './calendar.ts';
import type { createClosureQueries } from './closures.ts';
import type { createMonthCharges } from './month-charges.ts';
import type { createOverviewQueries } from './overview.ts';

const EMPTY: Occupancy = { open: 0, booked: 0 };

const occupancyOf = ({ spaceId }: Space, bySpace: ReadonlyMap<SpaceId, Occupancy>): Occupancy =>
  bySpace.get(spaceId) ?? EMPTY;

const sumOf = ({ kind }: Account, { earned, charged, refunded }: ChargeTotals): Cents =>
  kind === 'Community' ? earned : cents(charged - refunded);

type Sources = {
  readonly ofEvents: Pick<ReturnType<typeof createMonthCharges>['ofEvents'], 'totals'>;
  readonly closures: Pick<ReturnType<typeof createClosureQueries>, 'list'>;
  readonly calendar: Pick<ReturnType<typeof createCalendarQueries>, 'closuresOn'>;
  readonly overview: Pick<ReturnType<typeof createOverviewQueries>, 'bookedHours'>;
};

/** Money and occupancy by month, beside what they were before. */
export function createReportQueries({ ofEvents, closures, calendar, overview }: Sources) {
  async function occupancyIn(
    community: CommunityId,
    month: string,
    spaces: readonly Space[],
  ): Promise<ReadonlyMap<SpaceId, Occupancy>> {
    const { startDate: from, endDate: to } = daysOfMonth(month);
    const dates = [...datesBetween(from, to)];
    const ids = spaces.map(({ spaceId }) => spaceId);
    const [listed, booked] = await Promise.all([
      closures.list(community, from, to),
      overview.bookedHours(community, ids, { from, to }),
    ]);
    const closed = await calendar.closuresOn(dates, listed, ids);
    const nextSlice = yieldEvery(1);
    const bySpace = new Map<SpaceId, Occupancy>();
    for (const space of spaces) {
      await nextSlice();
      const { spaceId } = space;
      const closedOn = (date: (typeof dates)[number]) =>
        (closed.get(date) ?? []).flatMap(({ closure, spaceIds }) => (spaceIds.includes(spaceId) ? [closure] : []));
      const open = dates.reduce((sum, date) => sum + openHoursOn(space, date, closedOn(date)), 0);
      bySpace.set(spaceId, { open, booked: booked.get(spaceId) ?? 0 });
    }
    return bySpace;
  }

  return {
    /**
     * By currency, then by month: each of the months, also without money. Without any money, the months in `currency`.
     * @param months YYYY-MM
     */
    async money(account: Account, months: readonly string[], currency: string): Promise<readonly MonthMoney[]> {
      const wanted = [...new Set(months.flatMap((month) => [month, monthsLater(month, -12)]))];
      const read = wanted.map(async (month): Promise<[string, readonly ChargeTotals[]]> => {
        return [month, await ofEvents.totals(account, month)];
      });
      const byMonth = new Map(await Promise.all(read));
      const currencies = new Set([...byMonth.values()].flat().map((totals) => totals.currency));
      if (currencies.size === 0) currencies.add(currency);
      const sumIn = (month: string, currency: string) => {
        const totals = byMonth.get(month)?.find((one) => one.currency === currency);
        return totals === undefined ? cents(0) : sumOf(account, totals);
      };
      return [...currencies].sort().flatMap((currency) =>
        months.map((month) => ({
          month,
          currency,
          sum: sumIn(month, currency),
          yearBefore: sumIn(monthsLater(month, -12), currency),
        })),
      );
    },

    /**
     * The occupancy of some spaces of a community, a month at a time. Open hours are those of the hours that a space has today, less the
     * closed times of then.
     * @param months YYYY-MM
     */
    async *occupancy(
      community: CommunityId,
      months: readonly string[],
      spaces: readonly Space[],
    ): AsyncGenerator<readonly MonthOccupancy[]> {
      const known = new Map<string, ReturnType<typeof occupancyIn>>();
      const inMonth = (month: string) => known.getOrInsertComputed(month, () => occupancyIn(community, month, spaces));
      for (const month of months) {
        const [current, monthBefore, yearBefore] = await Promise.all([
          inMonth(month),
          inMonth(monthsLater(month, -1)),
          inMonth(monthsLater(month, -12)),
        ]);
        yield spaces.map((space) => ({
          month,
          space,
          current: occupancyOf(space, current),
          monthBefore: occupancyOf(space, monthBefore),
          yearBefore: occupancyOf(space, yearBefore),
        }));
      }
    },
  };
}
