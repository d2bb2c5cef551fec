import type { ReadableBooking } from '../../../projections/bookings.ts';
import { furtherDetails } from '../../contract/booking.ts';
import type { Account } from '../../domain/account.ts';
import type { Until } from '../../domain/as-of.ts';
import { expiryOf, startOf } from '../../domain/booking-moments.ts';
import { isRefusal } from '../../domain/decision.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText, written } from '../../html/names.ts';
import { spacePath } from '../find/space-page.ts';
import { addressed } from '../parts/addressed.ts';
import { priceView, statusBadge } from '../parts/booking-views.ts';
import { NO_PROBLEMS, type Problems, problemOf, statusOf } from '../parts/fields.ts';
import { amount, fromNow, hours, longDate, momentIn, zoneName } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { type Answer, missing, type Routes, type Visit } from '../parts/visit.ts';
import { decisionFacts, usageNote } from '../requests/decision-facts.ts';
import { decisionForms } from '../requests/decision-forms.ts';
import { canEnd } from '../requests/decisions.ts';
import { momentOfInput, timeline } from './booking-timeline.ts';
import { canReview, reviewForm, reviewText } from './review-form.ts';

/** The page of a single booking, and the actions that each party may take on it. */
export function bookingPages(routes: Routes, deps: PageDeps): void {
  const { commands, queries, settings } = deps;
  const { withBooking } = addressed(queries);

  routes.get('/console/bookings/:id', (visit) => withBooking(visit, (booking) => bookingPage(visit, booking)));

  routes.post(
    '/console/bookings/:id/review',
    (visit) =>
      withBooking(visit, async (booking) => {
        const { account, form } = visit;
        if (account.kind !== 'Brand') return missing('booking');
        const review = {
          bookingId: booking.bookingId,
          brandId: account.id,
          rating: form.integer('rating'),
          title: form.text('title'),
          content: form.text('content').replaceAll('\r\n', '\n'),
        };
        const outcome = await commands.reviews.post(review, visit.context);
        if (!isRefusal(outcome))
          return {
            go: `/console/bookings/${booking.bookingId}`,
            flash: { kind: 'done', text: 'Thank you. Your review has been published.' },
          };
        if (outcome.refused === 'ValidationError')
          return bookingPage(
            visit,
            booking,
            problemOf(outcome, { rating: 'Rating', title: 'Headline', content: 'Review' }),
          );
        return { go: `/console/bookings/${booking.bookingId}`, flash: { kind: 'notice', text: outcome.details } };
      }),
    'Brand',
  );

  async function bookingPage(
    visit: Visit,
    booking: ReadableBooking,
    problems: Problems = NO_PROBLEMS,
  ): Promise<Answer> {
    const { account, query } = visit;
    const isCommunity = account.kind === 'Community';
    const asOf = momentOfInput(query.text('at'), booking.timeZone);
    const history = (to: Until) => queries.bookingHistory.ofBooking(account, booking.bookingId, to);
    const [found, then, review, record, sameDay, community] = await Promise.all([
      history({}),
      asOf === undefined ? undefined : history({ asOf }),
      booking.status === 'Completed' ? queries.reviews.ofBooking(booking) : undefined,
      isCommunity ? queries.bookings.record(booking) : undefined,
      isCommunity ? queries.bookings.onDay(account, booking.spaceId, booking.date) : [],
      queries.spaces.community(booking.communityId),
    ]);
    const others = sameDay.filter(({ bookingId }) => bookingId !== booking.bookingId);
    return {
      title: `Booking #${booking.bookingId}`,
      section: 'bookings',
      status: statusOf(problems),
      main: html`<p class="back"><a href="/console/bookings">${icon('back')} ${isCommunity ? 'Bookings' : 'My bookings'}</a></p>
<div class="head" id="booking-head" data-live-region><div><h1>${named(isCommunity ? booking.brandName : booking.spaceName)}</h1><p class="lead">Booking #${booking.bookingId}${!isCommunity && community && html`, ${named(community.name)}`}</p></div>${statusBadge(booking.status)}</div>
<div class="split"><div>
<section class="card" id="booking-facts" data-live-region><h2 class="visually-hidden">Details</h2>${facts(visit, booking, isCommunity ? undefined : community?.name)}
${booking.message && html`<div><p class="muted small">${isCommunity ? 'Message from the brand' : 'Your message'}</p>${written(booking.message)}</div>`}
${record && booking.status === 'Pending' && html`<div class="stack tight">${decisionFacts(booking, { record, sameDay: others })}</div>`}
${actions(visit, booking, settings)}</section>
${review && html`<section class="card"><h2>${isCommunity ? 'Review' : 'Your review'}</h2>${reviewText(review, booking.timeZone)}</section>`}
${canReview(account, booking, review) && html`<section class="card" id="review"><h2>How was it?</h2>${reviewForm(visit, booking, problems)}</section>`}
</div><div>
<section class="card" id="booking-price" data-live-region><h2>Price</h2>${priceView(booking)}${charged(booking)}</section>
<section class="card" id="booking-timeline" data-live-region><h2>Timeline</h2>${timeline(found?.steps ?? [], booking, query.text('at'), then)}</section>
</div></div>`,
    };
  }
}

/** The details other than space, time and message, which the page lays out itself. */
const otherDetails = (booking: ReadableBooking): readonly (Html | false)[] =>
  furtherDetails(booking).map(
    ({ field, label, value }) => field !== 'message' && html`<dt>${label}</dt><dd>${named(String(value))}</dd>`,
  );

/** @param communityName only on a brand's page */
function facts(visit: Visit, booking: ReadableBooking, communityName: string | undefined): Html {
  const zone = booking.timeZone;
  return html`<dl class="facts">
<dt>Space</dt><dd>${named(booking.spaceName)}</dd>
<dt>When</dt><dd>${longDate(booking.date)}, <span class="nowrap">${hours(booking.startHour, booking.freeFrom)}</span> <span class="muted nowrap">${zoneName(zone)}</span>${usageNote(booking)}</dd>
<dt>${communityName === undefined ? 'Brand' : 'Community'}</dt><dd>${named(communityName ?? booking.brandName)}</dd>
${otherDetails(booking)}<dt>Requested</dt><dd>${momentIn(zone, booking.createdAt)} <span class="muted nowrap">${zoneName(zone)}</span></dd>${
    booking.status === 'Pending' &&
    html`<dt>Answer by</dt><dd>${momentIn(zone, expiryOf(booking))} <span class="muted nowrap">${zoneName(zone)}, ${fromNow(expiryOf(booking), visit.now)}</span></dd>`
  }${
    booking.status === 'Cancelled' &&
    html`<dt>Cancelled by</dt><dd>${cancelledBy(booking, visit.account)}</dd>${booking.reason && html`<dt>Reason</dt><dd class="pre">${named(booking.reason)}</dd>`}`
  }</dl>`;
}

const cancelledBy = (booking: ReadableBooking, account: Account): string => {
  if (booking.cancelledBy === 'System') return 'the service, because the request expired';
  if (booking.cancelledBy === account.kind) return 'you';
  return booking.cancelledBy === 'Brand' ? namedText(booking.brandName) : 'the community';
};

function actions(visit: Visit, booking: ReadableBooking, settings: PageDeps['settings']): Html | undefined {
  if (visit.account.kind === 'Brand' && isOver(booking, visit.now))
    return html`<div class="row"><a class="button quiet" href="${spacePath(booking.spaceId, { again: booking.bookingId })}">Book again</a></div>`;
  if (!canEnd(booking, visit.now)) return undefined;
  if (visit.account.kind === 'Community' && booking.status === 'Pending')
    return decisionForms(visit, booking, { settings });
  return html`<div class="row"><a class="button quiet" href="/console/bookings/${booking.bookingId}/cancel">${
    booking.status === 'Pending' ? 'Withdraw request…' : 'Cancel booking…'
  }</a></div>`;
}

/** Cancelled, completed, or begun: what may be booked once more. */
const isOver = (booking: ReadableBooking, now: number): boolean =>
  booking.status === 'Cancelled' || booking.status === 'Completed' || startOf(booking) <= now;

const charged = ({ charge, refund, currency }: ReadableBooking): Html | undefined => {
  // Of the same height as what follows an approval: the page may be open, and nothing on it is to move.
  if (charge === undefined) return html`<dl class="price"><dt>Charged</dt><dd>nothing yet</dd></dl>`;
  return html`<dl class="price"><dt>Charged</dt><dd>${amount(charge, currency)}</dd>${
    refund !== undefined && refund > 0 && html`<dt>Refunded</dt><dd>${amount(refund, currency)}</dd>`
  }</dl>`;
};
