import type { BookingDocument } from '../../../projections/bookings.ts';
import { isMonth, localMonth, monthsLater, toPlainDate } from '../../domain/calendar.ts';
import { cents, type PlainDate } from '../../domain/ids.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { ChargeTotals } from '../../queries/month-charges.ts';
import { bookingPager, cursorsOf, onlyZone, statusBadge, whenOf, zoneNote } from '../parts/booking-views.ts';
import { amount, monthName } from '../parts/formats.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { addressOf, neighbours, noticeOf } from '../parts/links.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { dataTable } from '../parts/tables.ts';
import { monthProblem } from '../parts/typed-dates.ts';

const PATH = '/console/charges';
const PER_PAGE = 30;

/** The charges and refunds for the events of a month: the earnings of a community, the charges of a brand. */
export function chargePages(routes: Routes, { queries }: PageDeps): void {
  routes.get(PATH, async ({ account, query, accountZone, now, settings }) => {
    const isCommunity = account.kind === 'Community';
    const asked = query.text('month');
    const month = isMonth(asked) ? asked : localMonth(now, accountZone);
    const range = { startDate: firstOf(month), endDate: lastOf(month) };
    const [totals, { bookings, ...pages }] = await Promise.all([
      queries.monthCharges.totals(account, range),
      queries.monthCharges.page(account, { ...range, direction: 'ascending', limit: PER_PAGE, ...cursorsOf(query) }),
    ]);
    const heading = isCommunity ? 'Earnings' : 'Charges';
    const monthLink = (to: string) => isMonth(to) && { href: addressOf(PATH, { month: to }), label: monthName(to) };
    return {
      title: `${heading}, ${monthName(month)}`,
      heading,
      lead: `Events of ${monthName(month)}. ${isCommunity ? 'Brands are charged when you approve.' : 'You are charged when a community approves.'}`,
      actions: neighbours('Month', monthLink(monthsLater(month, -1)), monthLink(monthsLater(month, 1))),
      problems: monthProblem(asked, month),
      flash: noticeOf(query, cursorsOf(query)),
      main: html`<div class="stack full" id="charges" data-live-region>${
        bookings.length === 0
          ? empty(isCommunity, month)
          : html`${figures(totals, isCommunity, settings.currency)}
<p class="muted small">Totals of the whole month.</p>
${chargeTable(bookings, isCommunity, `${heading} for ${monthName(month)}, earliest event first`)}${bookingPager(PATH, { month }, pages)}`
      }</div>`,
    };
  });
}

function empty(isCommunity: boolean, month: string): Html {
  const [what, text, href, label] = isCommunity
    ? ['earnings', 'Earnings appear here as soon as you approve a request.', '/console/inbox', 'View requests']
    : ['charges', 'Charges appear here as soon as a community approves your request.', '/console/find', 'Find a space'];
  return emptyState('charge', `No ${what} for ${monthName(month)}`, text, buttonLink(href, label));
}

function figures(totals: readonly ChargeTotals[], isCommunity: boolean, currency: string): Html {
  const nothing = { currency, charged: cents(0), refunded: cents(0), earned: cents(0), paid: cents(0) };
  const shown = totals.length === 0 ? [nothing] : totals;
  const figure = (label: string, value: (of: ChargeTotals) => number) =>
    html`<div><dt>${label}</dt>${shown.map((of) => html`<dd>${amount(value(of), of.currency)}</dd>`)}</div>`;
  return html`<dl class="figures">${figure('Charged', ({ charged }) => charged)}${figure('Refunded', ({ refunded }) => refunded)}${
    isCommunity ? figure('Earnings', ({ earned }) => earned) : figure('You paid', ({ paid }) => paid)
  }</dl>`;
}

function chargeTable(bookings: readonly BookingDocument[], isCommunity: boolean, caption: string): Html {
  const zone = onlyZone(bookings);
  const kept = ({ eventFee, serviceFee }: BookingDocument) => (isCommunity ? eventFee : serviceFee);
  const money = (label: string, classes: string, cents: (booking: BookingDocument) => number | undefined) => ({
    label,
    classes: `number ${classes}`,
    isLabelled: true,
    cell: (booking: BookingDocument) => amountOrDash(cents(booking), booking.currency),
  });
  return html`${zoneNote(zone)}${dataTable(
    caption,
    bookings,
    [
      {
        label: 'Event',
        classes: 'when',
        cell: (booking) =>
          html`<a class="whole" href="/console/bookings/${booking.bookingId}">${whenOf(booking, zone)}</a>`,
      },
      { label: 'Space', classes: `long ${isCommunity ? 'space' : 'who'}`, cell: ({ spaceName }) => named(spaceName) },
      isCommunity && { label: 'Brand', classes: 'long who', cell: ({ brandName }) => named(brandName) },
      { label: 'Status', classes: 'state', cell: statusBadge },
      money('Charged', 'total', ({ charge = 0 }) => charge),
      money('Refunded', 'refund', ({ refund = 0 }) => (refund > 0 ? refund : undefined)),
      money(isCommunity ? 'Earnings' : 'Service fee', 'kept', (booking) =>
        booking.refund ? undefined : kept(booking),
      ),
    ],
    'charges',
  )}`;
}

const amountOrDash = (cents: number | undefined, currency: string): Html | string =>
  cents === undefined ? html`<span class="nothing">–</span>` : amount(cents, currency);

const firstOf = (month: string): PlainDate => toPlainDate(Temporal.PlainYearMonth.from(month).toPlainDate({ day: 1 }));

const lastOf = (month: string): PlainDate =>
  toPlainDate(Temporal.PlainYearMonth.from(month).add({ months: 1 }).toPlainDate({ day: 1 }).subtract({ days: 1 }));
