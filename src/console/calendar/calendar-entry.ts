import type { BookingDocument } from '../../../projections/bookings.ts';
import { type Html, html, named } from '../../html/html.ts';
import { stateOf, statusClass } from '../parts/booking-views.ts';
import { clock } from '../parts/formats.ts';

/**
 * A booking in one line: a dot for its status, time, brand.
 * @param withSpace whether to name its space
 */
export const entry = (booking: BookingDocument, withSpace: boolean): Html =>
  html`<a class="entry ${statusClass(booking.status)}" href="/console/bookings/${booking.bookingId}">${booking.status === 'Cancelled' ? `${stateOf(booking)}, ` : html`<span class="visually-hidden">${booking.status}, </span>`}${clock(booking.startHour)} <span class="what">${named(booking.brandName)}${withSpace && html`<span class="where">, ${named(booking.spaceName)}</span>`}</span></a>`;

/** `9 booked · 2 pending`; undefined if there are no bookings. Cancelled ones do not count. */
export function countsOf(bookings: readonly BookingDocument[]): Html | undefined {
  const waiting = bookings.filter(({ status }) => status === 'Pending').length;
  const booked = bookings.filter(({ status }) => status === 'Approved' || status === 'Completed').length;
  if (waiting + booked === 0) return undefined;
  return html`${booked > 0 && `${booked} booked`}${booked > 0 && waiting > 0 && ' · '}${waiting > 0 && html`<span class="waiting">${waiting} pending</span>`}`;
}
