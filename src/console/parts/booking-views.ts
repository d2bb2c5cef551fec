import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import type { MovePlace } from '../../domain/booking-events.ts';
import { defined } from '../../domain/defined.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { BOOKING_STATUSES, type BookingStatus } from '../../domain/space-day.ts';
import { clock, hours, shortDate, shortened, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { type IconName, icon } from '../../html/layout.ts';
import {
  type BookingCursor,
  type BookingList,
  type BookingPart,
  cursorIn,
  cursorText,
} from '../../queries/booking-pages.ts';
import { cursorPager, type Fields } from './links.ts';
import type { OtherParty } from './other-party.ts';
import { actionColumn, type Column, column, dataTable } from './tables.ts';
import type { Form } from './typed-form.ts';
import type { AmountFormat, Visit } from './visit.ts';

/** How bookings are displayed on every page. */

/** The status of a booking as people see it. The name of one that was cancelled before its approval depends on who cancelled it. */
export const STATES = ['Pending', 'Approved', 'Completed', 'Declined', 'Withdrawn', 'Expired', 'Cancelled'] as const;
export type BookingState = (typeof STATES)[number];

type StatusFacts = Pick<BookingDocument, 'status' | 'cancelledBy' | 'charge'>;

const ENDED_BY = { Community: 'Declined', Brand: 'Withdrawn', System: 'Expired' } as const;

export const stateOf = ({ status, cancelledBy, charge }: StatusFacts): BookingState =>
  status === 'Cancelled' && charge === undefined && cancelledBy !== undefined ? ENDED_BY[cancelledBy] : status;

/** The bookings in a state. */
export function listIn(state: BookingState): BookingList {
  const cancelledBy = keysOf(ENDED_BY).find((by) => ENDED_BY[by] === state);
  if (cancelledBy !== undefined) return { status: 'Cancelled', cancelledBy, charge: { exists: false } };
  const status = BOOKING_STATUSES.find((one) => one === state) ?? 'Cancelled';
  return status === 'Cancelled' ? { status, charge: { exists: true } } : { status };
}

const ICON: Readonly<Record<BookingState, IconName>> = {
  Pending: 'pending',
  Approved: 'approved',
  Completed: 'completed',
  Declined: 'cancelled',
  Withdrawn: 'back',
  Expired: 'pending',
  Cancelled: 'cancelled',
};

export const statusIcon = (booking: StatusFacts): Html => icon(ICON[stateOf(booking)]);

export const statusClass = (status: BookingStatus): string => `is-${status.toLowerCase()}`;

/** A status, conveyed by word, icon and colour. */
export const statusBadge = (booking: StatusFacts): Html =>
  html`<span class="status ${statusClass(booking.status)}">${statusIcon(booking)}${stateOf(booking)}</span>`;

/** The other party has written about a booking, and the reader has not opened it. */
export const unreadMark = html`<span class="status is-pending">New message</span>`;

/** A space, a date and an hour in one line. */
export const placeText = ({ spaceName, date, startHour }: MovePlace): Html =>
  html`${named(spaceName)}, ${shortDate(date)}, ${clock(startHour)}`;

type BookingTime = Pick<BookingDocument, 'date' | 'startHour' | 'freeFrom' | 'timeZone'>;

/** `Fri 20 Nov 2026`, `10:00–14:00`. The zone follows unless the page names it. */
export const whenOf = (booking: BookingTime, pageZone: string | undefined): Html =>
  html`<time class="nowrap" datetime="${booking.date}">${shortDate(booking.date)}</time>
<span class="hours">${hours(booking.startHour, booking.freeFrom)}${
    booking.timeZone !== pageZone && html` <span class="muted small zone">${zoneName(booking.timeZone)}</span>`
  }</span>`;

/** The zone that all of these bookings are in. Undefined if they are in several. */
export function onlyZone(list: readonly Pick<BookingDocument, 'timeZone'>[]): string | undefined {
  const [zone, ...others] = new Set(list.map(({ timeZone }) => timeZone));
  return others.length === 0 ? zone : undefined;
}

/** `All times are Berlin time.`; nothing if there are several zones. */
export const zoneNote = (zone: string | undefined): Html | undefined =>
  zone === undefined ? undefined : html`<p class="muted small">All times are ${zoneName(zone)}.</p>`;

/** A booking in a message to an account: the other party, space, date and hours. */
export function briefly(
  booking: Pick<BookingDocument, 'brandName' | 'spaceName' | 'date' | 'startHour' | 'freeFrom'>,
  { kind }: Account,
): string {
  const names = kind === 'Community' ? [booking.brandName, booking.spaceName] : [booking.spaceName];
  const shownNames = names.map((name) => namedText(shortened(name)));
  return [...shownNames, shortDate(booking.date), hours(booking.startHour, booking.freeFrom)].join(', ');
}

/** The price breakdown, in the words of a community or a brand. */
export const priceView = (
  { account: { kind } }: Pick<Visit, 'account'>,
  amount: AmountFormat,
  price: {
    readonly eventFee: number;
    readonly serviceFee: number;
    readonly serviceFeePercent: number;
    readonly totalPrice: number;
    readonly currency: string;
  },
): Html => html`<dl class="price">
<dt>${kind === 'Community' ? 'You earn' : 'Event fee'}</dt><dd>${amount(price.eventFee, price.currency)}</dd>
<dt>Service fee (${price.serviceFeePercent}%)</dt><dd>${amount(price.serviceFee, price.currency)}</dd>
<dt class="sum">${kind === 'Community' ? 'The brand pays' : 'Total'}</dt><dd class="sum">${amount(price.totalPrice, price.currency)}</dd>
</dl>`;

/** The columns that name the space and the other party of a booking. */
export const nameColumns = <T>(
  { kind, nameOf }: OtherParty,
  bookingOf: (row: T) => BookingDocument,
): readonly Column<T>[] => {
  const [space, party] = kind === 'Brand' ? ['space', 'who'] : ['who', 'space'];
  return [
    column('Space', `long ${space}`, (row) => named(bookingOf(row).spaceName)),
    column(kind, `long ${party}`, (row) => named(nameOf(bookingOf(row)))),
  ];
};

/**
 * A table of bookings whose rows are links.
 * @param visit its reader
 * @param action a link for each row, in a column without a heading
 */
export function bookingTable(
  { amount }: Pick<Visit, 'amount'>,
  list: readonly BookingDocument[],
  party: OtherParty,
  caption: string,
  action?: (booking: BookingDocument) => Html,
): Html {
  const zone = onlyZone(list);
  const classes = action === undefined ? 'bookings' : 'bookings acting';
  const table = dataTable({ caption, classes }, list, [
    column('When', 'when', (booking) => whenOf(booking, zone)),
    ...nameColumns<BookingDocument>(party, (booking) => booking),
    column('Status', 'state', statusBadge),
    amount !== undefined && column('Total', 'number total', ({ totalPrice, currency }) => amount(totalPrice, currency)),
    column(
      'Booking',
      'number id',
      ({ bookingId }) => html`<a class="whole" href="/console/bookings/${bookingId}">#${bookingId}</a>`,
    ),
    action !== undefined && actionColumn('Action', action),
  ]);
  return html`${zoneNote(zone)}${table}`;
}

/** The cursor in the address of a page of bookings: `?after=2026-11-20:17` or `?before=…`, with the date and id of the booking next to it. */
export const cursorsOf = (query: Form): { readonly after?: BookingCursor; readonly before?: BookingCursor } =>
  defined({ after: cursorIn(query.text('after')), before: cursorIn(query.text('before')) });

/** The links to the pages beside one page of bookings. `fields`: the filter, which they keep. */
export const bookingPager = (
  path: string,
  fields: Fields,
  { previous, next }: Pick<BookingPart, 'previous' | 'next'>,
) => cursorPager(path, fields, { previous: previous && cursorText(previous), next: next && cursorText(next) }, 'after');
