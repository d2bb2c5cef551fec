import type { BookingDocument, ReadableBooking } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { expiryOf } from '../domain/booking-moments.ts';
import type { BookingId } from '../domain/ids.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { named, written } from '../html/names.ts';
import type { BrandRecord } from '../queries/bookings.ts';
import { bookingPager, cursorOf, statusBadge, statusClass, statusIcon } from './booking-views.ts';
import { recordText } from './brand-record.ts';
import { actionButton } from './fields.ts';
import { amount, counted, duration, fromNow, hours, longDate, momentIn, zoneName } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import type { Routes, Visit } from './visit.ts';

/** Requests per page. */
const PER_PAGE = 12;

/** A community's pending requests, each with what it needs to know to decide. */
export function inboxPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(
    '/console/inbox',
    async (visit) => {
      const { account } = visit;
      const { bookings, ...beside } = await queries.bookings.page(account, {
        status: 'Pending',
        direction: 'ascending',
        limit: PER_PAGE,
        ...cursorOf(visit.query),
      });
      const pending = await queries.bookings.count(account, 'Pending');
      const cards = await Promise.all(
        bookings.map(async (request) => card(visit, request, await factsOf(account, request))),
      );
      const more = bookingPager('/console/inbox', {}, beside);
      return {
        title: 'Requests',
        section: 'inbox',
        main: html`<div class="head"><div><h1>Requests</h1><p class="lead">Approve or decline requests from brands. Unanswered requests expire.</p></div></div>
<div class="stack full" id="requests" data-live-region>${
          pending === 0
            ? html`<div class="empty">${icon('inbox')}<h2>No pending requests</h2><p>New requests appear here automatically. In the meantime, check your calendar or make sure that your spaces are up to date.</p><div class="row"><a class="button" href="/console/calendar">Open calendar</a><a class="button quiet" href="/console/spaces">View your spaces</a></div></div>`
            : html`<p class="muted">${counted(pending, 'pending request')}, earliest event first.</p>${cards}${more}`
        }</div>`,
      };
    },
    'Community',
  );

  async function factsOf(account: Account, request: BookingDocument): Promise<Facts> {
    const [record, sameDay] = await Promise.all([
      queries.bookings.record(request),
      queries.bookings.onDay(account, request.spaceId, request.date),
    ]);
    return { record, sameDay: sameDay.filter(({ bookingId }) => bookingId !== request.bookingId) };
  }
}

/** What helps a community to decide: the brand's record with it, and its other bookings on that day. */
export type Facts = { readonly record: BrandRecord; readonly sameDay: readonly BookingDocument[] };

function card(visit: Visit, request: ReadableBooking, facts: Facts): Html {
  const { bookingId, timeZone } = request;
  const id = `request-${bookingId}`;
  return html`<article class="card request" aria-labelledby="${id}">
<header class="row apart"><h2 id="${id}"><a href="/console/bookings/${bookingId}">${named(request.brandName)}</a></h2>${statusBadge('Pending')}</header>
<div class="request-body"><dl class="facts">
<dt>Space</dt><dd>${named(request.spaceName)}</dd>
<dt>When</dt><dd>${longDate(request.date)}, <span class="nowrap">${hours(request.startHour, request.freeFrom)}</span> <span class="muted nowrap">${zoneName(timeZone)}</span>${usageNote(request)}</dd>
<dt>You earn</dt><dd>${amount(request.eventFee, request.currency)} <span class="muted">of the ${amount(request.totalPrice, request.currency)} that the brand pays</span></dd>
<dt>Answer by</dt><dd>${momentIn(timeZone, expiryOf(request))} <span class="muted nowrap">${zoneName(timeZone)}, ${fromNow(expiryOf(request), visit.now)}</span></dd>
</dl>
<div class="stack tight">${request.message && written(request.message)}${decisionFacts(request, facts)}</div></div>
<div class="row">${decisionForms(visit, request)}</div>
</article>`;
}

/** What else is booked that day, and the brand's history with the community. */
export function decisionFacts(
  request: Pick<BookingDocument, 'spaceName' | 'brandName'>,
  { record, sameDay }: Facts,
): Html {
  return html`<p class="small"><strong>That day in ${named(request.spaceName)}:</strong> ${
    sameDay.length === 0 ? 'no other bookings.' : ''
  }</p>${
    sameDay.length > 0 &&
    html`<ul class="chips">${sameDay.map(
      (other) =>
        html`<li><a class="chip ${statusClass(other.status)}" href="/console/bookings/${other.bookingId}">${statusIcon(other.status)}<span class="visually-hidden">${other.status}: </span>${hours(other.startHour, other.freeFrom)} ${named(other.brandName)}</a></li>`,
    )}</ul>`
  }<p class="small"><strong>History with ${named(request.brandName)}:</strong> ${recordText(record)}</p>`;
}

/** A note if the event runs past the end of the booking window. */
export const usageNote = (booking: Pick<BookingDocument, 'usageHours' | 'durationHours'>): Html | undefined =>
  booking.usageHours === undefined
    ? undefined
    : html`<br><span class="small">Usable for only ${duration(booking.usageHours)} of ${duration(booking.durationHours)}, as the space closes.</span>`;

/** Approve, as long as there is time to, or decline with a reason. */
export const decisionForms = (
  visit: Pick<Visit, 'csrf' | 'now'>,
  request: { readonly bookingId: BookingId } & Parameters<typeof expiryOf>[0],
): Html =>
  html`${
    expiryOf(request) > visit.now
      ? actionButton(visit, `/console/bookings/${request.bookingId}/approve`, 'Approve')
      : html`<p class="small">The time to answer is over. The request is being cancelled.</p>`
  }<a class="button quiet" href="/console/bookings/${request.bookingId}/decline">Decline…</a>`;
