import type { BookingDocument, ReadableBooking } from '../../../projections/bookings.ts';
import { duration, hours } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { BrandRecord } from '../../queries/bookings.ts';
import type { Queries } from '../../queries/queries.ts';
import { statusClass, statusIcon } from '../parts/booking-views.ts';

/** Facts for a decision: the brand's record with the community, and the other bookings on that day. */
type Facts = { readonly record: BrandRecord; readonly sameDay: readonly BookingDocument[] };

export async function decisionFactsOf(
  { bookings, requests }: Pick<Queries, 'bookings' | 'requests'>,
  booking: ReadableBooking,
): Promise<Facts> {
  const [record, sameDay] = await Promise.all([bookings.record(booking), requests.othersOnDay(booking)]);
  return { record, sameDay };
}

/** The other bookings that day, and the brand's history with the community. */
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
        html`<li><a class="chip ${statusClass(other.status)}" href="/console/bookings/${other.bookingId}">
${statusIcon(other)}<span class="visually-hidden">${other.status}: </span>
${hours(other.startHour, other.freeFrom)} ${named(other.brandName)}</a></li>`,
    )}</ul>`
  }<p class="small"><strong>History with ${named(request.brandName)}:</strong> ${recordText(record)}</p>`;
}

/** A note if the event runs past the end of the booking window. */
export const usageNote = (booking: Pick<BookingDocument, 'usageHours' | 'durationHours'>): Html | undefined =>
  booking.usageHours === undefined
    ? undefined
    : html`<br><span class="small">Usable for only ${duration(booking.usageHours)} of ${duration(booking.durationHours)},
as the space closes.</span>`;

/** The outcomes of a brand's bookings at a community, in words for the community. */
function recordText({ completed, approved, byBrand, byCommunity, expired }: BrandRecord): string {
  const parts = [
    completed > 0 && `${completed} completed`,
    approved > 0 && `${approved} approved`,
    byBrand > 0 && `${byBrand} cancelled by the brand`,
    // The last two are listed apart, because the brand did not cause them.
    byCommunity > 0 && `${byCommunity} declined or cancelled by you`,
    expired > 0 && `${expired} expired without an answer`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'no earlier bookings.' : `${parts.join(', ')}.`;
}
