import type { BookingDocument } from '../../projections/bookings.ts';
import { localDate, toPlainDate } from '../domain/calendar.ts';
import type { PlainDate } from '../domain/ids.ts';
import { html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { named } from '../html/names.ts';
import { statusBadge } from './booking-views.ts';
import { amount, monthName, shortDate } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import type { Routes } from './visit.ts';

/** Charges and refunds for the events of a month. */
export function chargePages(routes: Routes, { queries, settings }: PageDeps): void {
  routes.get('/console/charges', async (visit) => {
    const { account, query } = visit;
    const community = account.kind === 'Community';
    const zone = (community && (await queries.spaces.community(account.id))?.timeZone) || visit.zone;
    const month = /^\d{4}-(?:0[1-9]|1[0-2])$/.test(query.text('month'))
      ? query.text('month')
      : localDate(visit.now, zone).slice(0, 7);
    const charged: BookingDocument[] = [];
    for await (const booking of queries.bookings.list(account, { startDate: firstOf(month), endDate: lastOf(month) }))
      if (booking.charge !== undefined) charged.push(booking);

    const sum = (value: (booking: BookingDocument) => number) => charged.reduce((all, one) => all + value(one), 0);
    const kept = charged.filter(({ refund = 0 }) => refund === 0);
    const show = (value: number) => amount(value, settings.currency);
    const before = Temporal.PlainYearMonth.from(month).subtract({ months: 1 }).toString();
    const after = Temporal.PlainYearMonth.from(month).add({ months: 1 }).toString();
    return {
      title: `Charges, ${monthName(month)}`,
      section: 'charges',
      main: html`<div class="head"><div><h1>Charges</h1><p class="lead">Events of ${monthName(month)}. ${community ? 'Brands are charged when you approve.' : 'You are charged when a community approves.'}</p></div>
<nav class="row" aria-label="Month"><a class="button quiet" href="/console/charges?month=${before}">${icon('back')} ${monthName(before)}</a><a class="button quiet" href="/console/charges?month=${after}">${monthName(after)} ${icon('next')}</a></nav></div>
<div class="stack full" id="charges" data-live-region>${
        charged.length === 0
          ? html`<div class="empty">${icon('charge')}<h2>No charges for ${monthName(month)}</h2><p>${community ? 'Charges appear here as soon as you approve a request.' : 'Charges appear here as soon as a community approves your request.'}</p>${
              community
                ? html`<a class="button" href="/console/inbox">View requests</a>`
                : html`<a class="button" href="/console/find">Find a space</a>`
            }</div>`
          : html`<dl class="figures"><div><dt>Charged</dt><dd>${show(sum(({ charge = 0 }) => charge))}</dd></div><div><dt>Refunded</dt><dd>${show(sum(({ refund = 0 }) => refund))}</dd></div><div><dt>${community ? 'Your earnings' : 'You paid'}</dt><dd>${show(kept.reduce((all, one) => all + (community ? one.eventFee : one.totalPrice), 0))}</dd></div></dl>
<table class="table"><caption class="visually-hidden">Charges for ${monthName(month)}</caption><thead><tr><th scope="col">Event</th><th scope="col">Space</th>${community && html`<th scope="col">Brand</th>`}<th scope="col">Status</th><th scope="col" class="number">Charged</th><th scope="col" class="number">Refunded</th><th scope="col" class="number">${community ? 'Your earnings' : 'Service fee'}</th></tr></thead><tbody>${charged.map(
              (booking) =>
                html`<tr><td data-label="Event" class="nowrap"><a href="/console/bookings/${booking.bookingId}">${shortDate(booking.date)}</a></td><td data-label="Space" class="long">${named(booking.spaceName)}</td>${community && html`<td data-label="Brand" class="long">${named(booking.brandName)}</td>`}<td data-label="Status">${statusBadge(booking.status)}</td><td data-label="Charged" class="number">${show(booking.charge ?? 0)}</td><td data-label="Refunded" class="number">${(booking.refund ?? 0) > 0 ? show(booking.refund ?? 0) : '–'}</td><td data-label="${community ? 'Your earnings' : 'Service fee'}" class="number">${(booking.refund ?? 0) > 0 ? '–' : show(community ? booking.eventFee : booking.serviceFee)}</td></tr>`,
            )}</tbody></table>`
      }</div>`,
    };
  });
}

const firstOf = (month: string): PlainDate => toPlainDate(Temporal.PlainYearMonth.from(month).toPlainDate({ day: 1 }));

const lastOf = (month: string): PlainDate =>
  toPlainDate(Temporal.PlainYearMonth.from(month).add({ months: 1 }).toPlainDate({ day: 1 }).subtract({ days: 1 }));
