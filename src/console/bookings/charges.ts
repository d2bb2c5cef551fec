import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { isMonth, localMonth, localTime, monthsLater } from '../../domain/calendar.ts';
import { CHARGE_BASES, type ChargeBasis, type ChargeTotals } from '../../domain/charges.ts';
import { defined } from '../../domain/defined.ts';
import { cents } from '../../domain/ids.ts';
import { momentIn, monthName } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import { type Made, madeCursorIn, madeCursorText } from '../../queries/month-charges.ts';
import type { Answer } from '../parts/answer.ts';
import {
  bookingPager,
  cursorsOf,
  nameColumns,
  onlyZone,
  stateOf,
  statusBadge,
  whenOf,
  zoneNote,
} from '../parts/booking-views.ts';
import { type CsvColumn, csvOf, downloadLink, sumColumn } from '../parts/csv-file.ts';
import { hasProblems } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { addressOf, cursorPager, type Fields, neighbours, noticeOf, tabs } from '../parts/links.ts';
import { type OtherParty, otherPartyOf } from '../parts/other-party.ts';
import { aboutAmounts, type PageDeps, type Routes } from '../parts/routes.ts';
import { type Column, column, dataTable, labelledColumn } from '../parts/tables.ts';
import { monthProblem } from '../parts/typed-dates.ts';
import type { Form } from '../parts/typed-form.ts';
import type { AmountFormat, AmountVisit, Visit } from '../parts/visit.ts';
import { bookingColumns as bookingCsv, type WithParty, withParties } from './csv-export.ts';

const PATH = '/console/charges';
const CSV_PATH = '/console/charges.csv';
const PER_PAGE = 30;

const BRANDS_ARE_CHARGED = 'Brands are charged when their request is approved.';
const YOU_ARE_CHARGED = 'You are charged when a community approves.';

/** A month on a basis, as the address has it. */
type ChargesFilter = { readonly month: string; readonly by: ChargeBasis };

const fieldsOf = ({ month, by }: ChargesFilter): Fields => ({ month, by: by === 'event' ? undefined : by });

/** The charges and refunds of a month, on either basis: the earnings of a community, the charges of a brand. */
export function chargePages(routes: Routes, { queries }: PageDeps): void {
  routes.get(PATH, 'Viewer', aboutAmounts(chargesPage));

  routes.get(
    CSV_PATH,
    'Viewer',
    aboutAmounts(async (visit) => {
      const filter = filterIn(visit);
      return hasProblems(monthProblem(visit.query.text('month'), filter.month))
        ? chargesPage(visit)
        : csvFile(visit, filter);
    }),
  );

  async function chargesPage(visit: AmountVisit): Promise<Answer> {
    const { account, query } = visit;
    const isCommunity = account.kind === 'Community';
    const typed = query.text('month');
    const filter = filterIn(visit);
    const { month, by } = filter;
    const [totals, list] = await (by === 'event' ? ofEvents(visit, filter) : made(visit, filter));
    const heading = isCommunity ? 'Earnings' : 'Charges';
    const monthLink = (to: string) =>
      isMonth(to) && { href: addressOf(PATH, fieldsOf({ ...filter, month: to })), label: monthName(to) };
    return {
      title: `${heading}, ${monthName(month)}`,
      heading,
      lead: `${BASES[by].of(monthName(month))} ${isCommunity ? BRANDS_ARE_CHARGED : YOU_ARE_CHARGED}`,
      actions: neighbours('Month', monthLink(monthsLater(month, -1)), monthLink(monthsLater(month, 1))),
      problems: monthProblem(typed, month),
      flash: noticeOf(query, by === 'event' ? cursorsOf(query) : madeCursorsOf(query)),
      main: html`${tabs(
        'What the month counts',
        CHARGE_BASES.map((one) => ({
          label: BASES[one].label,
          href: addressOf(PATH, fieldsOf({ month, by: one })),
          current: one === by,
        })),
      )}
<div class="stack full" id="charges" data-live-region>${
        list === undefined
          ? empty(isCommunity, month)
          : html`${figures(visit, totals, isCommunity)}
<p class="muted small">Totals of the whole month, ${BASES[by].short}.</p>
${list}${downloadLink(addressOf(CSV_PATH, fieldsOf(filter)))}`
      }</div>`,
    };
  }

  function csvFile({ account }: Visit, { month, by }: ChargesFilter): Answer {
    const name = `${account.kind === 'Community' ? 'earnings' : 'charges'}-${month}${by === 'event' ? '' : '-by-approval'}`;
    const { ofEvents, made } = queries.monthCharges;
    if (by === 'event')
      return csvOf<WithParty<BookingDocument>>({
        name,
        rowName: 'booking',
        pages: withParties(queries, account, ofEvents.pages(account, month), (booking) => booking),
        columns: [
          ...bookingCsv<WithParty<BookingDocument>>(account, (booking) => booking),
          { label: 'Status', cell: stateOf },
          ...csvSums<BookingDocument>(account, (booking) => ({
            charged: booking.charge ?? 0,
            refunded: booking.refund ?? 0,
            kept: booking.refund === undefined ? keptOf(account, booking) : 0,
          })),
          { label: 'Currency', isCurrency: true, cell: (booking) => booking.currency },
        ],
      });
    return csvOf<WithParty<Made>>({
      name,
      rowName: 'line',
      pages: withParties(queries, account, made.pages(account, month), ({ booking }) => booking),
      columns: [
        ...bookingCsv<WithParty<Made>>(account, ({ booking }) => booking),
        { label: 'Made', cell: ({ kind }) => (kind === 'charge' ? 'Charged' : 'Refunded') },
        {
          label: 'Made at',
          cell: ({ at, booking }) => localTime(Date.parse(at), booking.timeZone).slice(0, 16).replace('T', ' '),
        },
        ...csvSums<Made>(account, ({ kind, booking }) => {
          const kept = keptOf(account, booking);
          return kind === 'charge'
            ? { charged: booking.charge ?? 0, refunded: 0, kept }
            : { charged: 0, refunded: booking.refund ?? 0, kept: -kept };
        }),
        { label: 'Currency', isCurrency: true, cell: ({ booking }) => booking.currency },
      ],
    });
  }

  type Listed = Promise<readonly [totals: readonly ChargeTotals[], list: Html | undefined]>;

  async function ofEvents({ account, query, amount }: AmountVisit, filter: ChargesFilter): Listed {
    const { month } = filter;
    const { totals, page } = queries.monthCharges.ofEvents;
    const part = { direction: 'ascending', limit: PER_PAGE, ...cursorsOf(query) } as const;
    const [sums, { bookings, ...pages }] = await Promise.all([totals(account, month), page(account, month, part)]);
    if (bookings.length === 0) return [sums, undefined];
    const party = await otherPartyOf(queries, account, bookings);
    const caption = `Charges for the events of ${monthName(month)}, earliest event first`;
    return [
      sums,
      html`${eventTable(amount, bookings, account, party, caption)}${bookingPager(PATH, fieldsOf(filter), pages)}`,
    ];
  }

  async function made({ account, query, amount }: AmountVisit, filter: ChargesFilter): Listed {
    const { month } = filter;
    const { totals, page } = queries.monthCharges.made;
    const part = { limit: PER_PAGE, ...madeCursorsOf(query) };
    const [sums, { made: list, previous, next }] = await Promise.all([
      totals(account, month),
      page(account, month, part),
    ]);
    if (list.length === 0) return [sums, undefined];
    const pages = { previous: previous && madeCursorText(previous), next: next && madeCursorText(next) };
    const bookings = list.map(({ booking }) => booking);
    const party = await otherPartyOf(queries, account, bookings);
    const caption = `Charges and refunds made in ${monthName(month)}, oldest first`;
    return [
      sums,
      html`${madeTable(amount, list, account, party, caption)}${cursorPager(PATH, fieldsOf(filter), pages, 'after')}`,
    ];
  }
}

/** The filter in the address. Without a month, this one. */
function filterIn({ query, accountZone, now }: Visit): ChargesFilter {
  const typed = query.text('month');
  return {
    month: isMonth(typed) ? typed : localMonth(now, accountZone),
    by: CHARGE_BASES.find((one) => one === query.text('by')) ?? 'event',
  };
}

const BASES: {
  readonly [B in ChargeBasis]: { readonly label: string; readonly short: string; of(month: string): string };
} = {
  event: {
    label: 'By event',
    short: 'by the dates of the events',
    of: (month) => `Events of ${month}, whenever they were charged.`,
  },
  approval: {
    label: 'By approval',
    short: 'by the days of the approvals and cancellations',
    of: (month) => `Charges and refunds made in ${month}, whenever the events are.`,
  },
};

const madeCursorsOf = (query: Form) =>
  defined({ after: madeCursorIn(query.text('after')), before: madeCursorIn(query.text('before')) });

function empty(isCommunity: boolean, month: string): Html {
  const [what, text, href, label] = isCommunity
    ? ['earnings', 'Earnings appear here as soon as a request is approved.', '/console/inbox', 'View requests']
    : ['charges', 'Charges appear here as soon as a community approves your request.', '/console/find', 'Find a space'];
  return emptyState('charge', `No ${what} for ${monthName(month)}`, buttonLink(href, label))`${text}`;
}

function figures({ amount, settings }: AmountVisit, totals: readonly ChargeTotals[], isCommunity: boolean): Html {
  const nothing = { currency: settings.currency, charged: cents(0), refunded: cents(0), earned: cents(0) };
  const rows = totals.length === 0 ? [nothing] : totals;
  const figure = (label: string, value: (of: ChargeTotals) => number) =>
    html`<div><dt>${label}</dt>${rows.map((of) => html`<dd>${amount(value(of), of.currency)}</dd>`)}</div>`;
  return html`<dl class="figures">${figure('Charged', ({ charged }) => charged)}${figure('Refunded', ({ refunded }) => refunded)}${
    isCommunity
      ? figure('Earnings', ({ earned }) => earned)
      : figure('You paid', ({ charged, refunded }) => charged - refunded)
  }</dl>`;
}

/** A row for each booking, with what it was charged and refunded. */
function eventTable(
  amount: AmountFormat,
  bookings: readonly BookingDocument[],
  account: Account,
  party: OtherParty,
  caption: string,
): Html {
  const zone = onlyZone(bookings);
  return html`${zoneNote(zone)}${dataTable({ caption, classes: 'charges' }, bookings, [
    ...bookingColumns<BookingDocument>(party, zone, (booking) => booking),
    column('Status', 'state', statusBadge),
    money('Charged', 'total', ({ charge = 0, currency }) => amount(charge, currency)),
    money('Refunded', 'refund', ({ refund = 0, currency }) => (refund > 0 ? amount(refund, currency) : NONE)),
    money(keptLabel(account.kind), 'kept', (booking) =>
      booking.refund ? NONE : amount(keptOf(account, booking), booking.currency),
    ),
  ])}`;
}

/** A row for each charge and each refund. */
function madeTable(
  amount: AmountFormat,
  list: readonly Made[],
  account: Account,
  party: OtherParty,
  caption: string,
): Html {
  const zone = onlyZone(list.map(({ booking }) => booking));
  const signed = ({ kind, booking }: Made, value: number) =>
    amount(kind === 'charge' ? value : -value, booking.currency);
  return html`${zoneNote(zone)}${dataTable({ caption, classes: 'charges' }, list, [
    ...bookingColumns<Made>(party, zone, ({ booking }) => booking),
    column(
      'Made',
      'state',
      ({ kind, at, booking }) =>
        html`${kind === 'charge' ? 'Charged' : 'Refunded'} <span class="nowrap">${momentIn(booking.timeZone, at)}</span>`,
    ),
    money('Amount', 'total', (made) => signed(made, made.booking.charge ?? 0)),
    money(keptLabel(account.kind), 'kept', (made) => signed(made, keptOf(account, made.booking))),
  ])}`;
}

const bookingColumns = <T>(
  party: OtherParty,
  zone: string | undefined,
  bookingOf: (row: T) => BookingDocument,
): readonly Column<T>[] => [
  column(
    'Event',
    'when',
    (row) =>
      html`<a class="whole" href="/console/bookings/${bookingOf(row).bookingId}">${whenOf(bookingOf(row), zone)}</a>`,
  ),
  ...nameColumns(party, bookingOf),
];

const money = <T>(label: string, classes: string, cell: (row: T) => Html | string): Column<T> =>
  labelledColumn(label, `number ${classes}`, cell);

const keptLabel = (kind: Account['kind']): string => (kind === 'Community' ? 'Earnings' : 'Service fee');

const keptOf = ({ kind }: Account, { eventFee, serviceFee }: BookingDocument): number =>
  kind === 'Community' ? eventFee : serviceFee;

/** The amounts of a file, as the figures of the page add them up. */
const csvSums = <T>(
  { kind }: Account,
  amountsOf: (row: T) => { readonly charged: number; readonly refunded: number; readonly kept: number },
): readonly CsvColumn<T>[] => [
  sumColumn('Charged', (row) => amountsOf(row).charged),
  sumColumn('Refunded', (row) => amountsOf(row).refunded),
  ...(kind === 'Brand' ? [sumColumn<T>('You paid', (row) => amountsOf(row).charged - amountsOf(row).refunded)] : []),
  sumColumn(keptLabel(kind), (row) => amountsOf(row).kept),
];

const NONE = html`<span class="nothing">–</span>`;
