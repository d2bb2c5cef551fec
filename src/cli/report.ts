import { type Command, Option } from '@commander-js/extra-typings';
import { toOperatorMoney, toOperatorOccupancy, toOperatorReport } from '../contract/report.ts';
import type { OfKind } from '../domain/account.ts';
import { monthsBetween } from '../domain/calendar.ts';
import type { MonthMoney } from '../domain/charges.ts';
import { isRefusal } from '../domain/decision.ts';
import type { MonthOccupancy } from '../domain/occupancy.ts';
import { formatAmount } from '../domain/pricing.ts';
import { csvText } from '../text/csv.ts';
import { nameOf, requiredAccount } from './accounts.ts';
import { month } from './arguments.ts';
import { wantsCsv } from './history.ts';
import { type OperatorCore, operated } from './operation.ts';
import { checkRange, subcommand, withAccount, wrongUsage } from './subcommand.ts';

/** Ten years. */
const MOST_MONTHS = 120;
const TABLES = ['money', 'occupancy'] as const;

export function reportCommand(venue: Command): void {
  const report = subcommand(
    venue,
    'report',
    'show money by month, and of a community how many hours of each space are booked',
    ['report --community 1 --from 2026-01 --to 2026-12', 'report --brand 1 --from 2026-01 --to 2026-12 --csv money'],
    `Money is what a community earned or a brand was charged, less refunds, in the month of the event, beside that of the same month a year
before. Occupancy is the share of the open hours of a space that is booked, in percent, beside the month before and the same month a year
before. The overview of the console shows the same figures.`,
  );
  withAccount(report, 'to report about')
    .requiredOption('--from <month>', 'the first month, such as 2026-01', month)
    .requiredOption('--to <month>', 'the last month', month)
    .addOption(new Option('--csv <table>', 'print one of the tables as CSV').choices(TABLES))
    .action(
      operated(async (core, { from, to, csv, ...named }, command) => {
        wantsCsv(command, { csv: csv !== undefined });
        const account = requiredAccount(named);
        checkRange(from, to);
        const months = monthsBetween(from, to);
        if (months.length > MOST_MONTHS) throw wrongUsage(`--from and --to may span at most ${MOST_MONTHS} months`);
        const owner = await nameOf(core, account);
        if (isRefusal(owner)) return owner;
        if (account.kind === 'Brand' && csv === 'occupancy') throw wrongUsage('a brand has no occupancy');
        const money = () => core.queries.report.money(account, months, core.config.currency);
        if (csv === 'money') return { json: undefined, document: moneyCsv(await money()) };
        const occupancy = account.kind === 'Community' ? await occupancyOf(core, account, months) : undefined;
        if (csv === 'occupancy') return { json: undefined, document: occupancyCsv(occupancy ?? []) };
        return {
          json: toOperatorReport({ account, name: owner.name, from, to, money: await money(), occupancy }),
        };
      }),
    );
}

async function occupancyOf(
  { queries: { report, spaces } }: OperatorCore,
  account: OfKind<'Community'>,
  months: readonly string[],
): Promise<readonly MonthOccupancy[]> {
  return (await Array.fromAsync(report.occupancy(account.id, months, await spaces.list(account)))).flat();
}

const moneyCsv = (money: readonly MonthMoney[]): string =>
  csvText(
    ['month', 'currency', 'amount', 'yearBefore'],
    money.map((one) => {
      const { month, currency } = toOperatorMoney(one);
      return [month, currency, formatAmount(one.sum), formatAmount(one.yearBefore)];
    }),
  );

const OCCUPANCY = [
  ...(['month', 'spaceId', 'spaceName', 'openHours', 'bookedHours'] as const),
  ...(['percent', 'percentMonthBefore', 'percentYearBefore'] as const),
];

function occupancyCsv(occupancy: readonly MonthOccupancy[]): string {
  const rows = occupancy.map(toOperatorOccupancy);
  return csvText(
    OCCUPANCY,
    rows.map((row) => OCCUPANCY.map((name) => row[name])),
  );
}
