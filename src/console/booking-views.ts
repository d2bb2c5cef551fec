import type { BookingDocument } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { isPlainDate } from '../domain/calendar.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import { type Html, html, raw } from '../html/html.ts';
import { type IconName, icon } from '../html/layout.ts';
import { named } from '../html/names.ts';
import type { BookingCursor } from '../queries/bookings.ts';
import { amount, hours, shortDate, zoneName } from './formats.ts';
import type { Form } from './visit.ts';

/** How bookings are displayed on every page. */

const ICON: Readonly<Record<BookingStatus, IconName>> = {
  Pending: 'pending',
  Approved: 'approved',
  Cancelled: 'cancelled',
  Completed: 'completed',
};

export const statusIcon = (status: BookingStatus): Html => icon(ICON[status]);

export const statusClass = (status: BookingStatus): string => `is-${status.toLowerCase()}`;

/** A status, conveyed by word, icon and colour. */
export const statusBadge = (status: BookingStatus): Html =>
  html`<span class="status ${statusClass(status)}">${statusIcon(status)}${status}</span>`;

/** `Fri 20 Nov 2026`, `10:00–14:00 Berlin time` */
const when = (booking: Pick<BookingDocument, 'date' | 'startHour' | 'freeFrom' | 'timeZone'>): Html =>
  html`<time class="nowrap" datetime="${booking.date}">${shortDate(booking.date)}</time> <span class="hours">${hours(booking.startHour, booking.freeFrom)} <span class="muted small">${zoneName(booking.timeZone)}</span></span>`;

/** The price breakdown. */
export const priceView = (price: {
  readonly eventFee: number;
  readonly serviceFee: number;
  readonly serviceFeePercent: number;
  readonly totalPrice: number;
  readonly currency: string;
}): Html => html`<dl class="price">
<dt>Event fee</dt><dd>${amount(price.eventFee, price.currency)}</dd>
<dt>Service fee (${price.serviceFeePercent}%)</dt><dd>${amount(price.serviceFee, price.currency)}</dd>
<dt class="sum">Total</dt><dd class="sum">${amount(price.totalPrice, price.currency)}</dd>
</dl>`;

/** A table of bookings, which turns into cards on a phone. */
export function bookingTable(list: readonly BookingDocument[], account: Account, caption: string): Html {
  const other = account.kind === 'Community' ? 'Brand' : 'Space';
  return html`<table class="table"><caption class="visually-hidden">${caption}</caption>
<thead><tr><th scope="col">When</th>${account.kind === 'Community' && raw('<th scope="col">Space</th>')}<th scope="col">${other}</th><th scope="col">Status</th><th scope="col" class="number">Total</th><th scope="col">Booking</th></tr></thead>
<tbody>${list.map(
    (booking) => html`<tr>
<td data-label="When"><span>${when(booking)}</span></td>${
      account.kind === 'Community' && html`<td data-label="Space" class="long">${named(booking.spaceName)}</td>`
    }<td data-label="${other}" class="long">${named(account.kind === 'Community' ? booking.brandName : booking.spaceName)}</td>
<td data-label="Status">${statusBadge(booking.status)}</td>
<td data-label="Total" class="number">${amount(booking.totalPrice, booking.currency)}</td>
<td data-label="Booking" class="nowrap"><a href="/console/bookings/${booking.bookingId}">#${booking.bookingId}</a></td></tr>`,
  )}</tbody></table>`;
}

/** The cursor of a page of bookings: `?after=2026-11-20:17` (date and id of the last booking before it). */
export function cursorOf(query: Form): { readonly after?: BookingCursor } {
  const [, date, id] = /^(\d{4}-\d{2}-\d{2}):(\d{1,15})$/.exec(query.text('after')) ?? [];
  return date !== undefined && isPlainDate(date) ? { after: { date, bookingId: Number(id) } } : {};
}

/** Links to the next page of a list and back to the first one. */
export function nextPage(query: Form, href: string, next: BookingCursor | undefined): Html | undefined {
  const later = query.text('after') !== '';
  if (next === undefined && !later) return undefined;
  const join = href.includes('?') ? '&' : '?';
  return html`<nav class="pager" aria-label="Pages">${
    later ? html`<a href="${href}">${icon('back')} First page</a>` : html`<span></span>`
  }${next && html`<a class="button quiet" href="${href}${join}after=${next.date}:${next.bookingId}">Next page ${icon('next')}</a>`}</nav>`;
}
