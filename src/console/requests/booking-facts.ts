import type { ReadableBooking } from '../../../projections/bookings.ts';
import { furtherDetails } from '../../contract/booking.ts';
import type { Account } from '../../domain/account.ts';
import { cancellableUntil, expiryOf } from '../../domain/booking-moments.ts';
import { fromNow, hours, longDate, momentIn, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { stateOf } from '../parts/booking-views.ts';
import type { Visit } from '../parts/visit.ts';
import { usageNote } from './decision-facts.ts';
import { canEnd } from './decisions.ts';

/** The details other than space, time and message, which the page lays out itself. */
const otherDetails = (booking: ReadableBooking): readonly (Html | false)[] =>
  furtherDetails(booking).map(
    ({ field, label, value }) =>
      field !== 'message' && html`<dt>${label}</dt><dd class="pre">${named(String(value))}</dd>`,
  );

/** The facts of a booking other than its price and message. @param communityName only on a brand's page */
export function bookingFacts(visit: Visit, booking: ReadableBooking, communityName: string | undefined): Html {
  const zone = booking.timeZone;
  return html`<dl class="facts">
<dt>Space</dt><dd>${named(booking.spaceName)}</dd>
<dt>When</dt><dd>${longDate(booking.date)}, <span class="nowrap">${hours(booking.startHour, booking.freeFrom)}</span>
<span class="muted nowrap">${zoneName(zone)}</span>${usageNote(booking)}</dd>
<dt>${communityName === undefined ? 'Brand' : 'Community'}</dt><dd>${named(communityName ?? booking.brandName)}</dd>
${otherDetails(booking)}<dt>Requested</dt><dd>${momentIn(zone, booking.createdAt)}</dd>${
    booking.status === 'Pending' &&
    html`<dt>Answer by</dt>
<dd>${momentIn(zone, expiryOf(booking))} <span class="muted nowrap">${fromNow(expiryOf(booking), visit.now)}</span></dd>`
  }${
    booking.cancelHours !== undefined &&
    booking.cancelHours > 0 &&
    canEnd(visit, booking) &&
    cancellableUntil(booking) > visit.now &&
    html`<dt>${communityName === undefined ? 'Brand can cancel until' : 'Free to cancel until'}</dt>
<dd>${momentIn(zone, cancellableUntil(booking))}
<span class="muted nowrap">${fromNow(cancellableUntil(booking), visit.now)}</span></dd>`
  }${
    booking.status === 'Cancelled' &&
    html`${
      booking.cancelledBy !== 'System' &&
      html`<dt>${stateOf(booking)} by</dt><dd>${cancelledBy(booking, visit.account)}</dd>`
    }${booking.reason && html`<dt>Reason</dt><dd class="pre">${named(booking.reason)}</dd>`}`
  }</dl>`;
}

const cancelledBy = (booking: ReadableBooking, account: Account): string => {
  if (booking.cancelledBy === account.kind) return 'you';
  return booking.cancelledBy === 'Brand' ? namedText(booking.brandName) : 'the community';
};
