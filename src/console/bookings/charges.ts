import type { BookingDocument } from '../../../projections/bookings.ts';
import { isMonth, localMonth, monthsLater, toPlainDate } from '../../domain/calendar.ts';
import { cents, type PlainDate } from '../../domain/ids.ts';
import { type Html, html, raw } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named } from '../../html/names.ts';
import type { ChargeTotals } from '../../queries/month-charges.ts';
import { addressOf } from '../parts/addresses.ts';
import { bookingPager, cursorOf, statusBadge, whenOf } from '../parts/booking-views.ts';
import { formProblem, statusOf } from '../parts/fields.ts';
import { amount, monthName } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { noticeOf } from '../parts/pager.ts';
import { monthProblem } from '../parts/typed-dates.ts';
import type { Routes } from '../parts/visit.ts';

const PATH = '/console/charges';
const PER_PAGE = 30;

/** What brands were charged and refunded for the events of a month: the earnings of a community, the charges of a brand. */
export function chargePages(routes: Routes, { queries, settings }: PageDeps): void {
  routes.get(PATH, async (visit) => {
    const { account, query } = visit;
    const isCommunity = account.kind === 'Community';
    const zone = (isCommunity && (await queries.spaces.community(account.id))?.timeZone) || visit.zone;
    const asked = query.text('month');
    const month = isMonth(asked) ? asked : localMonth(visit.now, zone);
    const problems = monthProblem(asked, month);
    const range = { startDate: firstOf(month), endDate: lastOf(month) };
    const [totals, { bookings, ...pages }] = await Promise.all([
      queries.monthCharges.totals(account, range),
      queries.monthCharges.page(account, { ...range, direction: 'ascending', limit: PER_PAGE, ...cursorOf(query) }),
    ]);
    const [before, after] = [monthsLater(month, -1), monthsLater(month, 1)];
    const heading = isCommunity ? 'Earnings' : 'Charges';
    return {
      title: `${heading}, ${monthName(month)}`,
      section: 'charges',
      status: statusOf(problems),
      flash: noticeOf(query, cursorOf(query)),
      main: html`<div class="head"><div><h1>${heading}</h1><p class="lead">Events of ${monthName(month)}. ${isCommunity ? 'Brands are charged when you approve.' : 'You are charged when a community approves.'}</p></div>
<nav class="row" aria-label="Month">${isMonth(before) && html`<a class="button quiet" href="${addressOf(PATH, { month: before })}">${icon('back')} ${monthName(before)}</a>`}${isMonth(after) && html`<a class="button quiet" href="${addressOf(PATH, { month: after })}">${monthName(after)} ${icon('next')}</a>`}</nav></div>
${formProblem(problems)}
<div class="stack full" id="charges" data-live-region>${
        bookings.length === 0
          ? html`<div class="empty">${icon('charge')}<h2>No ${heading.toLowerCase()} for ${monthName(month)}</h2><p>${isCommunity ? 'Earnings appear here as soon as you approve a request.' : 'Charges appear here as soon as a community approves your request.'}</p>${
              isCommunity
                ? html`<a class="button" href="/console/inbox">View requests</a>`
                : html`<a class="button" href="/console/find">Find a space</a>`
            }</div>`
          : html`${figures(totals, isCommunity, settings.currency)}
<p class="muted small">Totals of the whole month.</p>
<table class="table charges"><caption class="visually-hidden">${heading} for ${monthName(month)}, earliest event first</caption><thead><tr><th scope="col">Event</th><th scope="col">Space</th>${isCommunity && raw('<th scope="col">Brand</th>')}<th scope="col">Status</th><th scope="col" class="number">Charged</th><th scope="col" class="number">Refunded</th><th scope="col" class="number">${keptLabel(isCommunity)}</th></tr></thead><tbody>${bookings.map((booking) => row(booking, isCommunity))}</tbody></table>${bookingPager(PATH, { month }, pages)}`
      }</div>`,
    };
  });
}

const keptLabel = (isCommunity: boolean): string => (isCommunity ? 'Earnings' : 'Service fee');

function figures(totals: readonly ChargeTotals[], isCommunity: boolean, currency: string): Html {
  const nothing = { currency, charged: cents(0), refunded: cents(0), earned: cents(0), paid: cents(0) };
  const shown = totals.length === 0 ? [nothing] : totals;
  const figure = (label: string, value: (of: ChargeTotals) => number) =>
    html`<div><dt>${label}</dt>${shown.map((of) => html`<dd>${amount(value(of), of.currency)}</dd>`)}</div>`;
  return html`<dl class="figures">${figure('Charged', ({ charged }) => charged)}${figure('Refunded', ({ refunded }) => refunded)}${
    isCommunity ? figure('Earnings', ({ earned }) => earned) : figure('You paid', ({ paid }) => paid)
  }</dl>`;
}

function row(booking: BookingDocument, isCommunity: boolean): Html {
  const { charge = 0, refund = 0, currency } = booking;
  const kept = isCommunity ? booking.eventFee : booking.serviceFee;
  const money = (name: string, label: string, value: number | undefined) =>
    html`<td class="number ${name}${value === undefined && ' nothing'}" data-label="${label}">${value === undefined ? '–' : amount(value, currency)}</td>`;
  return html`<tr><td class="when"><a class="whole" href="/console/bookings/${booking.bookingId}">${whenOf(booking)}</a></td><td class="long ${isCommunity ? 'space' : 'who'}">${named(booking.spaceName)}</td>${isCommunity && html`<td class="long who">${named(booking.brandName)}</td>`}<td class="state">${statusBadge(booking.status)}</td>${money('total', 'Charged', charge)}${money('refund', 'Refunded', refund > 0 ? refund : undefined)}${money('kept', keptLabel(isCommunity), refund > 0 ? undefined : kept)}</tr>`;
}

const firstOf = (month: string): PlainDate => toPlainDate(Temporal.PlainYearMonth.from(month).toPlainDate({ day: 1 }));

const lastOf = (month: string): PlainDate =>
  toPlainDate(Temporal.PlainYearMonth.from(month).add({ months: 1 }).toPlainDate({ day: 1 }).subtract({ days: 1 }));
