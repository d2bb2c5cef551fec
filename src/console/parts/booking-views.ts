import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { isPlainDate } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import type { BookingStatus } from '../../domain/space-day.ts';
import { type Html, html, raw } from '../../html/html.ts';
import { type IconName, icon } from '../../html/layout.ts';
import { named } from '../../html/names.ts';
import type { BookingCursor, BookingPart } from '../../queries/booking-pages.ts';
import { addressOf, type Fields } from './addresses.ts';
import { amount, hours, shortDate, zoneName } from './formats.ts';
import { pager } from './pager.ts';
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
export const whenOf = (booking: Pick<BookingDocument, 'date' | 'startHour' | 'freeFrom' | 'timeZone'>): Html =>
  html`<time class="nowrap" datetime="${booking.date}">${shortDate(booking.date)}</time> <span class="hours">${hours(booking.startHour, booking.freeFrom)} <span class="muted small zone">${zoneName(booking.timeZone)}</span></span>`;

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

/** A table of bookings whose rows are links. Where it is too narrow for its columns, each row is a card. */
export function bookingTable(list: readonly BookingDocument[], account: Account, caption: string): Html {
  const isCommunity = account.kind === 'Community';
  return html`<table class="table bookings"><caption class="visually-hidden">${caption}</caption>
<thead><tr><th scope="col">When</th><th scope="col">Space</th>${isCommunity && raw('<th scope="col">Brand</th>')}<th scope="col">Status</th><th scope="col" class="number">Total</th><th scope="col" class="number">Booking</th></tr></thead>
<tbody>${list.map(
    (booking) => html`<tr>
<td class="when">${whenOf(booking)}</td><td class="long ${isCommunity ? 'space' : 'who'}">${named(booking.spaceName)}</td>${
      isCommunity && html`<td class="long who">${named(booking.brandName)}</td>`
    }<td class="state">${statusBadge(booking.status)}</td><td class="number total">${amount(booking.totalPrice, booking.currency)}</td><td class="number id"><a class="whole" href="/console/bookings/${booking.bookingId}">#${booking.bookingId}</a></td></tr>`,
  )}</tbody></table>`;
}

/** Where a page of bookings begins or ends: `?after=2026-11-20:17` or `?before=…`, with the date and id of a booking beside it. */
export function cursorOf(query: Form): { readonly after?: BookingCursor; readonly before?: BookingCursor } {
  const [after, before] = [placeIn(query.text('after')), placeIn(query.text('before'))];
  return defined({ after, before });
}

function placeIn(text: string): BookingCursor | undefined {
  const [, date, id] = /^(\d{4}-\d{2}-\d{2}):(\d{1,15})$/.exec(text) ?? [];
  return date !== undefined && isPlainDate(date) ? { date, bookingId: Number(id) } : undefined;
}

/** The links to the pages beside one page of bookings. `fields`: what is filtered by, which they keep. */
export function bookingPager(
  path: string,
  fields: Fields,
  { previous, next }: Pick<BookingPart, 'previous' | 'next'>,
): Html | undefined {
  const place = ({ date, bookingId }: BookingCursor) => `${date}:${bookingId}`;
  return pager({
    first: previous && addressOf(path, fields),
    previous: previous && addressOf(path, { ...fields, before: place(previous) }),
    next: next && addressOf(path, { ...fields, after: place(next) }),
  });
}
