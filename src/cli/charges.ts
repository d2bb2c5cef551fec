import { type Command, Option } from '@commander-js/extra-typings';
import { toOperatorBrand } from '../contract/account.ts';
import { type OperatorCharge, toOperatorCharge, toOperatorTotal } from '../contract/charge.ts';
import { CHARGE_BASES, type ChargeBasis, type ChargeTotals, totalsOf } from '../domain/charges.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { formatAmount } from '../domain/pricing.ts';
import { csvHeader, csvLine } from '../text/csv.ts';
import { month, wholeNumber } from './arguments.ts';
import { type Invoked, isJson, type OperatorCore, operated, tell, writerOf } from './operation.ts';
import { toText } from './print.ts';
import { subcommand } from './subcommand.ts';

export function chargeCommands(venue: Command): void {
  subcommand(
    venue,
    'charges',
    'list the charges and refunds of a brand in a month, as CSV or JSON',
    ['charges --brand 1 --month 2026-11 > charges.csv', 'charges --brand 1 --month 2026-11 --by event --json'],
    `By approval, a charge belongs to the month of the approval and a refund to that of the cancellation, by the zone of the booking. By
event, both belong to the month of the event. The last lines are the totals, one per currency; without them the file is incomplete. A name
that a spreadsheet would read as a formula gets an apostrophe in front.`,
  )
    .requiredOption('--brand <id>', 'the brand', wholeNumber)
    .requiredOption('--month <month>', 'the month, such as 2026-11', month)
    .addOption(
      new Option('--by <basis>', 'what puts a charge in the month').choices(CHARGE_BASES).default('approval' as const),
    )
    .action(
      operated(async ({ queries }, { brand, ...query }, command) => {
        const charges = await queries.brandCharges.ofMonth(brand, query.month, query.by);
        if (isRefusal(charges)) return charges;
        await (isJson(command) ? printJson : printCsv)(command, charges, query);
        return 'printed';
      }),
    );
}

const HEADER = [
  ...['kind', 'at', 'localTime', 'timeZone', 'bookingId', 'communityId', 'communityName', 'spaceId', 'spaceName'],
  ...['date', 'startHour', 'endHour', 'charged', 'refunded', 'net', 'currency', 'eventId'],
];

type ChargeList = Exclude<Awaited<ReturnType<OperatorCore['queries']['brandCharges']['ofMonth']>>, Refusal>;
type ChargesQuery = { readonly month: string; readonly by: ChargeBasis };

async function printCsv(command: Invoked, list: ChargeList, { month, by }: ChargesQuery): Promise<void> {
  const write = writerOf(command);
  let totals: readonly ChargeTotals[] = [];
  await write(csvHeader(HEADER));
  for await (const charge of list.charges) {
    totals = withOneMore(totals, charge);
    await write(csvLine(rowOf(charge)));
  }
  for (const total of totals) await write(csvLine(totalRow(total)));
  if (totals.length === 0)
    tell(command, `${toText(list.brand.name)} was charged and refunded nothing in ${month}, by ${by}.`);
  if (!list.isOver) tell(command, `${month} is not over yet; these are the charges so far, by ${by}.`);
}

/** Added up line by line, so that the totals are always those of the lines above them. */
const withOneMore = (totals: readonly ChargeTotals[], { kind, amount, booking: { currency } }: OperatorCharge) =>
  totalsOf([...totals, { currency, [kind === 'charge' ? 'charged' : 'refunded']: amount }]);

function rowOf(listed: OperatorCharge) {
  const { kind, at, localTime, timeZone, bookingId, communityId, communityName, ...rest } = toOperatorCharge(listed);
  const { spaceId, spaceName, date, startHour, endHour, currency, eventId } = rest;
  const amount = formatAmount(listed.amount);
  const money = kind === 'charge' ? [amount, '', amount] : ['', amount, formatAmount(-listed.amount)];
  return [
    ...[kind, at, localTime, timeZone, bookingId, communityId, communityName, spaceId, spaceName],
    ...[date, startHour, endHour, ...money, currency, eventId],
  ];
}

function totalRow({ currency, charged, refunded }: ChargeTotals) {
  const money = [charged, refunded, charged - refunded].map(formatAmount);
  const { length: before } = HEADER.slice(1, HEADER.indexOf('charged'));
  return ['total', ...Array<string>(before).fill(''), ...money, currency, ''];
}

/** The same as one JSON document with one charge or refund per line. */
async function printJson(command: Invoked, list: ChargeList, { month, by }: ChargesQuery): Promise<void> {
  const write = writerOf(command);
  let totals: readonly ChargeTotals[] = [];
  const about = JSON.stringify({ brand: toOperatorBrand(list.brand), month, by, isOver: list.isOver });
  await write(`${about.slice(0, -1)},"payments":[`);
  let separator = '\n';
  for await (const charge of list.charges) {
    totals = withOneMore(totals, charge);
    await write(`${separator}${JSON.stringify(toOperatorCharge(charge))}`);
    separator = ',\n';
  }
  await write(`],"totals":${JSON.stringify(totals.map(toOperatorTotal))}}\n`);
}
