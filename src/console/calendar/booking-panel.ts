import type { ReadableBooking } from '../../../projections/bookings.ts';
import { type Html, html, named, written } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';
import { returnFields } from '../parts/back-link.ts';
import { statusBadge } from '../parts/booking-views.ts';
import { buttonLink } from '../parts/frame.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';
import { bookingFacts } from '../requests/booking-facts.ts';
import { decisionFacts, decisionFactsOf } from '../requests/decision-facts.ts';
import { decisionForms, reasonSuggestions } from '../requests/decision-forms.ts';
import { recentReasons } from '../requests/inbox-reads.ts';

/**
 * A booking beside the plan of its day, with the forms that answer a request. Last, because an answer removes them, and no link may move.
 * @param here the address of the page, to which the forms lead back
 * @param closed its address without the booking
 */
export async function bookingPanel(
  queries: Queries,
  visit: CommunityVisit,
  booking: ReadableBooking,
  { here, closed }: { readonly here: string; readonly closed: string },
): Promise<Html> {
  const isPending = booking.status === 'Pending';
  const isAsked = isPending && may(visit, 'Coordinator');
  const [facts, reasons] = await Promise.all([
    isPending ? decisionFactsOf(queries, booking) : undefined,
    isAsked ? recentReasons(queries, visit.account) : [],
  ]);
  const { bookingId, message, currency } = booking;
  const { amount } = visit;
  return html`<section class="card panel" id="booking" data-live-region tabindex="-1" aria-labelledby="booking-name">
<div class="row apart top"><h2 id="booking-name">${named(booking.brandName)}</h2>
${buttonLink(`${closed}#b${bookingId}`, 'Close', 'quiet small')}</div>
<p><a href="/console/bookings/${bookingId}">Open booking #${bookingId}</a></p>
<div>${statusBadge(booking)}</div>
${bookingFacts(visit, booking, undefined)}
${
  amount &&
  html`<p>You earn <strong>${amount(booking.eventFee, currency)}</strong>
<span class="muted small">The brand pays <span class="nowrap">${amount(booking.totalPrice, currency)}</span></span></p>`
}
${message && html`<div><p class="muted small">Message from the brand</p>${written(message)}</div>`}
${facts && html`<div class="stack tight">${decisionFacts(booking, facts)}</div>`}
${isAsked && html`<div class="decision">${decisionForms(visit, booking, { fields: returnFields(here) })}</div>`}
${reasons.length > 0 && reasonSuggestions(reasons)}</section>`;
}
