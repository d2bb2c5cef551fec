import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { isPlainDate } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import type { BookingStatus } from '../../domain/space-day.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type IconName, icon } from '../../html/layout.ts';
import type { BookingCursor, BookingPart } from '../../queries/booking-pages.ts';
import { amount, hours, shortDate, zoneName } from './formats.ts';
import { addressOf, type Fields, pager } from './links.ts';
import { dataTable } from './tables.ts';
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

/** A table of bookings whose rows are links. */
export const bookingTable = (list: readonly BookingDocument[], { kind }: Account, caption: string): Html =>
  dataTable(
    caption,
    list,
    [
      { label: 'When', look: 'when', cell: whenOf },
      {
        label: 'Space',
        look: `long ${kind === 'Community' ? 'space' : 'who'}`,
        cell: ({ spaceName }) => named(spaceName),
      },
      kind === 'Community' && { label: 'Brand', look: 'long who', cell: ({ brandName }) => named(brandName) },
      { label: 'Status', look: 'state', cell: ({ status }) => statusBadge(status) },
      { label: 'Total', look: 'number total', cell: ({ totalPrice, currency }) => amount(totalPrice, currency) },
      {
        label: 'Booking',
        look: 'number id',
        cell: ({ bookingId }) => html`<a class="whole" href="/console/bookings/${bookingId}">#${bookingId}</a>`,
      },
    ],
    'bookings',
  );

/** Where a page of bookings begins or ends: `?after=2026-11-20:17` or `?before=…`, with the date and id of a booking beside it. */
export const cursorsOf = (query: Form): { readonly after?: BookingCursor; readonly before?: BookingCursor } =>
  defined({ after: cursorIn(query.text('after')), before: cursorIn(query.text('before')) });

function cursorIn(text: string): BookingCursor | undefined {
  const [, date, id] = /^(\d{4}-\d{2}-\d{2}):(\d{1,15})$/.exec(text) ?? [];
  return date !== undefined && isPlainDate(date) ? { date, bookingId: Number(id) } : undefined;
}

/** The links to the pages beside one page of bookings. `fields`: the filter, which they keep. */
export function bookingPager(
  path: string,
  fields: Fields,
  { previous, next }: Pick<BookingPart, 'previous' | 'next'>,
): Html | undefined {
  const cursor = ({ date, bookingId }: BookingCursor) => `${date}:${bookingId}`;
  return pager({
    first: previous && addressOf(path, fields),
    previous: previous && addressOf(path, { ...fields, before: cursor(previous) }),
    next: next && addressOf(path, { ...fields, after: cursor(next) }),
  });
}
