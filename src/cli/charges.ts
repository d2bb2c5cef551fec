import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { toOperatorBrand } from '../contract/account.ts';
import { toOperatorPayment, toOperatorTotal } from '../contract/charge.ts';
import { isMonth } from '../domain/calendar.ts';
import { isRefusal } from '../domain/decision.ts';
import {
  CHARGE_BASES,
  type ChargeBasis,
  type ChargesOfMonth,
  createPaymentTotals,
  type ListedPayment,
  type PaymentTotal,
} from '../domain/payment.ts';
import { formatAmount } from '../domain/pricing.ts';
import { csvHeader, csvLine } from '../runtime/csv.ts';
import { wholeNumber } from './arguments.ts';
import { type Invoked, isJson, operate, tell, writerOf } from './operation.ts';
import { toText } from './print.ts';
import { subcommand } from './subcommand.ts';

export function chargeCommands(venue: Command): void {
  subcommand(
    venue,
    'charges',
    'list the charges and refunds of a brand in a month, from the log, as CSV or JSON',
    ['charges --brand 1 --month 2026-11 > charges.csv', 'charges --brand 1 --month 2026-11 --by event --json'],
    `By approval, a charge belongs to the month of the approval and a refund to that of the cancellation, by the clock of the community. By
event, both belong to the month of the event. The last lines are the totals, one per currency; without them the file is incomplete. A name
that a spreadsheet would read as a formula gets an apostrophe in front.`,
  )
    .requiredOption('--brand <id>', 'the brand', wholeNumber)
    .requiredOption('--month <month>', 'the month, such as 2026-11', month)
    .addOption(
      new Option('--by <basis>', 'what puts a charge in the month').choices(CHARGE_BASES).default('approval' as const),
    )
    .action(({ brand, ...query }, command) =>
      operate(command, async ({ queries }) => {
        const charges = await queries.charges.ofMonth(brand, query.month, query.by);
        if (isRefusal(charges)) return charges;
        await (isJson(command) ? printJson : printCsv)(command, charges, query);
        return 'printed';
      }),
    );
}

function month(text: string): string {
  if (!isMonth(text)) throw new InvalidArgumentError('It must be a month in the form YYYY-MM.');
  return text;
}

const HEADER = [
  ...['kind', 'at', 'localTime', 'timeZone', 'bookingId', 'communityId', 'communityName', 'spaceId', 'spaceName'],
  ...['date', 'startHour', 'endHour', 'charged', 'refunded', 'net', 'currency', 'eventId'],
];

type ChargesQuery = { readonly month: string; readonly by: ChargeBasis };

async function printCsv(command: Invoked, charges: ChargesOfMonth, { month, by }: ChargesQuery): Promise<void> {
  const write = writerOf(command);
  const totals = createPaymentTotals();
  await write(csvHeader(HEADER));
  const progress = ({ done, at }: { readonly done: number; readonly at: string }) =>
    tell(command, `${done.toLocaleString('en')} approvals and cancellations read, up to ${at.slice(0, 10)}`);
  for await (const listed of charges.read(progress)) {
    totals.add(listed);
    await write(csvLine(rowOf(listed)));
  }
  for (const total of totals.all()) await write(csvLine(totalRow(total)));
  if (totals.all().length === 0)
    tell(command, `${toText(charges.brand.name)} was charged and refunded nothing in ${month}, by ${by}.`);
  if (!charges.isOver) tell(command, `${month} is not over yet; these are the charges so far, by ${by}.`);
}

function rowOf(listed: ListedPayment) {
  const { kind, at, localTime, timeZone, bookingId, communityId, communityName, ...rest } = toOperatorPayment(listed);
  const { spaceId, spaceName, date, startHour, endHour, currency, eventId } = rest;
  const amount = formatAmount(listed.amount);
  const money = kind === 'charge' ? [amount, '', amount] : ['', amount, formatAmount(-listed.amount)];
  return [
    ...[kind, at, localTime, timeZone, bookingId, communityId, communityName, spaceId, spaceName],
    ...[date, startHour, endHour, ...money, currency, eventId],
  ];
}

function totalRow({ currency, charged, refunded }: PaymentTotal) {
  const money = [charged, refunded, charged - refunded].map(formatAmount);
  const { length: before } = HEADER.slice(1, HEADER.indexOf('charged'));
  return ['total', ...Array<string>(before).fill(''), ...money, currency, ''];
}

/** The same as one JSON document with one payment per line, written while the log is read. */
async function printJson(
  command: Invoked,
  { brand, isOver, read }: ChargesOfMonth,
  { month, by }: ChargesQuery,
): Promise<void> {
  const write = writerOf(command);
  const totals = createPaymentTotals();
  const about = JSON.stringify({ brand: toOperatorBrand(brand), month, by, isOver });
  await write(`${about.slice(0, -1)},"payments":[`);
  let separator = '\n';
  for await (const listed of read()) {
    totals.add(listed);
    await write(`${separator}${JSON.stringify(toOperatorPayment(listed))}`);
    separator = ',\n';
  }
  await write(`],"totals":${JSON.stringify(totals.all().map(toOperatorTotal))}}\n`);
}
