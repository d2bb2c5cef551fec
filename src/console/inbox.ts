import type { BookingDocument } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import type { BrandRecord } from '../queries/bookings.ts';
import { cursorOf, nextPage, statusBadge, statusClass, statusIcon } from './booking-views.ts';
import { actionButton } from './fields.ts';
import { amount, counted, duration, fromNow, hours, longDate, momentIn, zoneName } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import type { Routes, Visit } from './visit.ts';

/** Requests a page shows; the rest wait on the next one. */
const PER_PAGE = 12;

/** Requests that wait for an answer, each with the facts needed to decide. */
export function inboxPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(
    '/console/inbox',
    async (visit) => {
      const { account } = visit;
      const { bookings, next } = await queries.bookings.page(account, {
        status: 'Pending',
        direction: 'ascending',
        limit: PER_PAGE,
        ...cursorOf(visit.query),
      });
      const waiting = await queries.bookings.count(account, 'Pending');
      const cards = await Promise.all(
        bookings.map(async (request) => card(visit, request, await factsOf(account, request))),
      );
      const more = nextPage(visit.query, '/console/inbox', next);
      return {
        title: 'Requests',
        section: 'inbox',
        main: html`<div class="head"><div><h1>Requests</h1><p class="lead">Brands wait for your answer. A request nobody answers in time lapses.</p></div></div>
<div class="stack full" id="requests" data-live-region>${
          waiting === 0
            ? html`<div class="empty">${icon('inbox')}<h2>No requests are waiting</h2><p>New requests appear here by themselves. Meanwhile you can look at what is booked, or see that your spaces say what brands need to know.</p><div class="row"><a class="button" href="/console/calendar">Open the calendar</a><a class="button quiet" href="/console/spaces">Look at your spaces</a></div></div>`
            : html`<p class="muted">${counted(waiting, 'request')} waiting, soonest event first.</p>${cards}${more}`
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

/** What a community looks at before it decides. */
export type Facts = { readonly record: BrandRecord; readonly sameDay: readonly BookingDocument[] };

function card(visit: Visit, request: BookingDocument, facts: Facts): Html {
  const { bookingId, timeZone } = request;
  const id = `request-${bookingId}`;
  return html`<article class="card request" aria-labelledby="${id}">
<header class="row apart"><h2 id="${id}"><a href="/console/bookings/${bookingId}">${request.brandName}</a></h2>${statusBadge('Pending')}</header>
<div class="request-body"><dl class="facts">
<dt>Space</dt><dd>${request.spaceName}</dd>
<dt>When</dt><dd>${longDate(request.date)}, <span class="nowrap">${hours(request.startHour, request.freeFrom)}</span> <span class="muted nowrap">${zoneName(timeZone)}</span>${usageNote(request)}</dd>
<dt>You earn</dt><dd>${amount(request.eventFee, request.currency)} <span class="muted">of ${amount(request.totalPrice, request.currency)} the brand pays</span></dd>
<dt>Answer by</dt><dd>${momentIn(timeZone, request.expiresAt)} <span class="muted nowrap">${zoneName(timeZone)}, ${fromNow(request.expiresAt, visit.now)}</span></dd>
</dl>
<div class="stack tight">${request.message && html`<p class="quote">${request.message}</p>`}${decisionFacts(request, facts)}</div></div>
<div class="row">${decisionForms(visit, request)}</div>
</article>`;
}

/** What else is on that day, and what the brand did here before. */
export function decisionFacts(
  request: Pick<BookingDocument, 'spaceName' | 'brandName'>,
  { record, sameDay }: Facts,
): Html {
  const before = record.Completed + record.Approved + record.Cancelled;
  return html`<p class="small"><strong>That day in ${request.spaceName}:</strong> ${
    sameDay.length === 0 ? 'nothing else.' : ''
  }</p>${
    sameDay.length > 0 &&
    html`<ul class="chips">${sameDay.map(
      (other) =>
        html`<li><a class="chip ${statusClass(other.status)}" href="/console/bookings/${other.bookingId}">${statusIcon(other.status)}<span class="visually-hidden">${other.status}: </span>${hours(other.startHour, other.freeFrom)} ${other.brandName}</a></li>`,
    )}</ul>`
  }<p class="small"><strong>${request.brandName} here:</strong> ${
    before === 0
      ? 'their first request that is decided.'
      : `${counted(record.Completed, 'event')} held, ${record.Approved} approved, ${record.Cancelled} cancelled.`
  }</p>`;
}

/** Hours that are cut off by the end of the window. */
export const usageNote = (booking: Pick<BookingDocument, 'usageHours' | 'durationHours'>): Html | undefined =>
  booking.usageHours === undefined
    ? undefined
    : html`<br><span class="small">Only ${duration(booking.usageHours)} of ${duration(booking.durationHours)}: the space closes.</span>`;

/** Approve, or decline with a reason. */
export const decisionForms = (visit: Visit, { bookingId }: Pick<BookingDocument, 'bookingId'>): Html =>
  html`${actionButton(
    visit,
    `/console/bookings/${bookingId}/approve`,
    'Approve',
  )}<a class="button quiet" href="/console/bookings/${bookingId}/decline">Decline …</a>`;
