import type { BookingDocument } from '../../projections/bookings.ts';
import { furtherDetails } from '../contract/booking.ts';
import type { Account } from '../domain/account.ts';
import { localDate } from '../domain/calendar.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { keysOf } from '../domain/keys-of.ts';
import { REASON } from '../domain/limits.ts';
import { BOOKING_STATUSES, type BookingStatus } from '../domain/space-day.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { timeline } from './booking-timeline.ts';
import { bookingTable, cursorOf, nextPage, priceView, statusBadge } from './booking-views.ts';
import { csrfField, formProblem, NO_PROBLEMS, type Problems, problemOf, textArea } from './fields.ts';
import { amount, fromNow, hours, longDate, momentIn, zoneName } from './formats.ts';
import { decisionFacts, decisionForms, usageNote } from './inbox.ts';
import type { PageDeps } from './page-deps.ts';
import { canReview, reviewForm, reviewText } from './review-form.ts';
import { tabs } from './tabs.ts';
import { type Answer, idOf, missing, type Routes, type Visit } from './visit.ts';

const PER_PAGE = 30;

const WHEN = { upcoming: 'Upcoming', past: 'Past' } as const;
type When = keyof typeof WHEN;

/** Lists of bookings, one booking with everything about it, and what the parties may do to it. */
export function bookingPages(routes: Routes, deps: PageDeps): void {
  const { commands, queries } = deps;

  routes.get('/console/bookings', async (visit) => {
    const { account, query } = visit;
    const when: When = query.text('when') === 'past' ? 'past' : 'upcoming';
    const status = BOOKING_STATUSES.find((known) => known === query.text('status'));
    // West of everywhere it is still yesterday: a booking of today is upcoming in every zone.
    const today = localDate(visit.now, 'Etc/GMT+12');
    const { bookings, next } = await queries.bookings.page(account, {
      ...(when === 'upcoming' ? { startDate: today } : { endDate: today }),
      ...defined({ status }),
      direction: when === 'upcoming' ? 'ascending' : 'descending',
      limit: PER_PAGE,
      ...cursorOf(query),
    });
    const title = account.kind === 'Community' ? 'Bookings' : 'My bookings';
    const href = address(when, status);
    return {
      title,
      section: 'bookings',
      main: html`<div class="head"><h1>${title}</h1></div>
<div class="row apart"><nav aria-label="When">${tabs(keysOf(WHEN).map((one) => ({ label: WHEN[one], href: address(one, status), current: one === when })))}</nav>
<nav aria-label="State">${tabs([
        { label: 'All', href: address(when, undefined), current: status === undefined },
        ...BOOKING_STATUSES.map((one) => ({ label: one, href: address(when, one), current: one === status })),
      ])}</nav></div>
<div class="stack full" id="bookings" data-live-region>${
        bookings.length === 0
          ? empty(account, when, status)
          : html`${bookingTable(bookings, account, `${WHEN[when]} bookings, times in the zone of each space`)}${nextPage(query, href, next)}`
      }</div>`,
    };
  });

  routes.get('/console/bookings/:id', (visit) => withBooking(visit, (booking) => bookingPage(visit, booking)));

  routes.post(
    '/console/bookings/:id/approve',
    (visit) =>
      withBooking(visit, async (booking) => {
        if (visit.account.kind !== 'Community') return missing('booking');
        const go = `/console/bookings/${booking.bookingId}`;
        const command = { bookingId: booking.bookingId, communityId: visit.account.id };
        const outcome = await commands.bookings.approve(command, visit.context);
        if (!isRefusal(outcome)) {
          const charged = amount(booking.totalPrice, booking.currency);
          return { go, flash: { kind: 'done', text: `Approved. ${booking.brandName} is charged ${charged}.` } };
        }
        return { go, flash: await whatHappened(visit.account, booking.bookingId, 'Approved', outcome.details) };
      }),
    'Community',
  );

  for (const step of ['decline', 'cancel'] as const) {
    routes.get(`/console/bookings/:id/${step}`, (visit) =>
      withBooking(visit, async (booking) => {
        if (!canEnd(booking, visit.now)) return { go: `/console/bookings/${booking.bookingId}` };
        return endPage(visit, booking);
      }),
    );

    routes.post(`/console/bookings/:id/${step}`, (visit) =>
      withBooking(visit, async (booking) => {
        const { account, form } = visit;
        const reason = form.text('reason').replaceAll('\r\n', '\n');
        if (account.kind === 'Community' && reason === '')
          return endPage(visit, booking, { reason: 'Say why: the brand reads it.' });
        const go = `/console/bookings/${booking.bookingId}`;
        const command = { bookingId: booking.bookingId, by: account, ...(reason === '' ? {} : { reason }) };
        const outcome = await commands.bookings.cancel(command, visit.context);
        if (!isRefusal(outcome)) {
          const refund =
            booking.status === 'Approved'
              ? ` ${amount(booking.totalPrice, booking.currency)} go back to the brand.`
              : '';
          const done = account.kind === 'Community' && booking.status === 'Pending' ? 'Declined.' : 'Cancelled.';
          return { go, flash: { kind: 'done', text: `${done}${refund}` } };
        }
        if (outcome.refused === 'ValidationError')
          return endPage(visit, booking, problemOf(outcome, { reason: 'Reason' }));
        return { go, flash: await whatHappened(account, booking.bookingId, 'Cancelled', outcome.details) };
      }),
    );
  }

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
            flash: { kind: 'done', text: 'Thank you. Your review is published.' },
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

  async function withBooking(visit: Visit, then: (booking: BookingDocument) => Promise<Answer>): Promise<Answer> {
    const id = idOf(visit.params.id);
    const booking = id === undefined ? undefined : await queries.bookings.get(visit.account, id);
    return booking === undefined ? missing('booking') : then(booking);
  }

  /** A decision came too late, or a second time: the page that follows shows the booking as it is now, and this says why. */
  async function whatHappened(account: Account, bookingId: number, wanted: BookingStatus, details: string) {
    const now = await queries.bookings.get(account, bookingId);
    if (now?.status === wanted)
      return {
        kind: 'notice',
        text: `This booking is ${wanted.toLowerCase()} already. Nothing was done twice.`,
      } as const;
    const meanwhile = now?.status === 'Cancelled' ? ` It was cancelled by ${byWhom(now, account)} meanwhile.` : '';
    return { kind: 'problem', text: `${details}${meanwhile}` } as const;
  }

  async function bookingPage(
    visit: Visit,
    booking: BookingDocument,
    problems: Problems = NO_PROBLEMS,
  ): Promise<Answer> {
    const { account, query } = visit;
    const community = account.kind === 'Community';
    const [steps, review, record, sameDay, place] = await Promise.all([
      queries.bookingHistory(account, booking.bookingId),
      booking.status === 'Completed' ? queries.reviews.ofBooking(booking) : undefined,
      community ? queries.bookings.record(booking) : undefined,
      community ? queries.bookings.onDay(account, booking.spaceId, booking.date) : [],
      queries.spaces.community(booking.communityId),
    ]);
    const others = sameDay.filter(({ bookingId }) => bookingId !== booking.bookingId);
    return {
      title: `Booking ${booking.bookingId}`,
      section: 'bookings',
      ...(problems === NO_PROBLEMS ? {} : { status: 422 }),
      main: html`<p class="back"><a href="/console/bookings">${icon('back')} ${community ? 'Bookings' : 'My bookings'}</a></p>
<div class="head" id="booking-head" data-live-region><div><h1>${community ? booking.brandName : booking.spaceName}</h1><p class="lead">Booking no. ${booking.bookingId}${!community && place && `, ${place.name}`}</p></div>${statusBadge(booking.status)}</div>
<div class="split"><div>
<section class="card" id="booking-facts" data-live-region><h2 class="visually-hidden">Facts</h2>${facts(visit, booking, community ? undefined : place?.name)}
${booking.message && html`<div><p class="muted small">${community ? 'Message of the brand' : 'Your message'}</p><p class="quote">${booking.message}</p></div>`}
${record && booking.status === 'Pending' && html`<div class="stack tight">${decisionFacts(booking, { record, sameDay: others })}</div>`}
${actions(visit, booking)}</section>
${review && html`<section class="card"><h2>${community ? 'Review' : 'Your review'}</h2>${reviewText(review)}</section>`}
${canReview(account, booking, review) && html`<section class="card" id="review"><h2>How was it?</h2>${reviewForm(visit, booking, problems)}</section>`}
</div><div>
<section class="card" id="booking-price" data-live-region><h2>Price</h2>${priceView(booking)}${charged(booking)}</section>
<section class="card" id="booking-timeline" data-live-region><h2>Timeline</h2>${timeline(steps ?? [], booking, account, query.text('at'))}</section>
</div></div>`,
    };
  }
}

/** Details beside where, when and the message, which the page shows in words of its own. */
const otherDetails = (booking: BookingDocument): readonly (Html | false)[] =>
  furtherDetails(booking).map(
    ({ field, label, value }) => field !== 'message' && html`<dt>${label}</dt><dd>${value}</dd>`,
  );

/** @param place name of the community, for those who look at it from the other side */
function facts(visit: Visit, booking: BookingDocument, place: string | undefined): Html {
  const zone = booking.timeZone;
  return html`<dl class="facts">
<dt>Space</dt><dd>${booking.spaceName}</dd>
<dt>When</dt><dd>${longDate(booking.date)}, <span class="nowrap">${hours(booking.startHour, booking.freeFrom)}</span> <span class="muted nowrap">${zoneName(zone)}</span>${usageNote(booking)}</dd>
<dt>${place === undefined ? 'Brand' : 'Community'}</dt><dd>${place ?? booking.brandName}</dd>
${otherDetails(booking)}<dt>Requested</dt><dd>${momentIn(zone, booking.createdAt)} <span class="muted nowrap">${zoneName(zone)}</span></dd>${
    booking.status === 'Pending' &&
    html`<dt>Answer due</dt><dd>${momentIn(zone, booking.expiresAt)} <span class="muted nowrap">${zoneName(zone)}, ${fromNow(booking.expiresAt, visit.now)}</span></dd>`
  }${
    booking.status === 'Cancelled' &&
    html`<dt>Cancelled by</dt><dd>${byWhom(booking, visit.account)}</dd>${booking.reason && html`<dt>Reason</dt><dd class="pre">${booking.reason}</dd>`}`
  }</dl>`;
}

const byWhom = (booking: BookingDocument, account: Account): string => {
  if (booking.cancelledBy === 'System') return 'nobody: it lapsed';
  if (booking.cancelledBy === account.kind) return 'you';
  return booking.cancelledBy === 'Brand' ? booking.brandName : 'the community';
};

function actions(visit: Visit, booking: BookingDocument): Html | undefined {
  if (!canEnd(booking, visit.now)) return undefined;
  if (visit.account.kind === 'Community' && booking.status === 'Pending')
    return html`<div class="row">${decisionForms(visit, booking)}</div>`;
  return html`<div class="row"><a class="button danger" href="/console/bookings/${booking.bookingId}/cancel">${
    booking.status === 'Pending' ? 'Withdraw the request …' : 'Cancel the booking …'
  }</a></div>`;
}

/** Whether a cancellation has a chance; the decider has the last word. */
const canEnd = ({ status, startsAt }: BookingDocument, now: number): boolean =>
  (status === 'Pending' || status === 'Approved') && Date.parse(startsAt) > now;

const charged = ({ charge, refund, currency }: BookingDocument): Html | undefined => {
  if (charge === undefined) return html`<p class="muted small">Nothing is charged before the community approves.</p>`;
  return html`<dl class="price"><dt>Charged</dt><dd>${amount(charge, currency)}</dd>${
    refund !== undefined && refund > 0 && html`<dt>Refunded</dt><dd>${amount(refund, currency)}</dd>`
  }</dl>`;
};

/** Declines a request, withdraws one, or cancels a booking: asks once, with what it costs. */
async function endPage(visit: Visit, booking: BookingDocument, problems: Problems = NO_PROBLEMS): Promise<Answer> {
  const { account, form } = visit;
  const community = account.kind === 'Community';
  const pending = booking.status === 'Pending';
  const word = pending ? (community ? 'Decline' : 'Withdraw') : 'Cancel';
  const what = pending ? 'request' : 'booking';
  const step = community && pending ? 'decline' : 'cancel';
  const back = `/console/bookings/${booking.bookingId}`;
  return {
    title: `${word} this ${what}`,
    section: 'bookings',
    ...(problems === NO_PROBLEMS ? {} : { status: 422 }),
    main: html`<p class="back"><a href="${back}">${icon('back')} Booking no. ${booking.bookingId}</a></p>
<form class="card fields narrow" method="post" action="${back}/${step}">${csrfField(visit)}
<h1>${word} this ${what}?</h1>
${formProblem(problems)}
<p>${community ? booking.brandName : booking.spaceName}, ${longDate(booking.date)}, ${hours(booking.startHour, booking.freeFrom)} <span class="muted nowrap">${zoneName(booking.timeZone)}</span>.</p>
<p>${booking.status === 'Approved' ? `${amount(booking.totalPrice, booking.currency)} go back to the brand. ` : ''}The hours are open to everybody again. This cannot be undone.</p>
${textArea({
  name: 'reason',
  label: community ? 'Reason' : 'Reason (optional)',
  hint: community ? 'The brand reads it.' : 'The community reads it.',
  value: form.text('reason'),
  required: community,
  problems,
  attributes: { maxlength: REASON.max, rows: 3 },
})}
<div class="row"><button class="button danger">${word} the ${what}</button><a class="button quiet" href="${back}">Keep it</a></div>
</form>`,
  };
}

const address = (when: When, status: BookingStatus | undefined): string =>
  `/console/bookings?when=${when}${status === undefined ? '' : `&status=${status}`}`;

function empty(account: Account, when: When, status: BookingStatus | undefined): Html {
  const kind = `${when} ${status === undefined ? '' : `${status.toLowerCase()} `}bookings`;
  return account.kind === 'Community'
    ? html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Bookings appear here as soon as a brand requests one of your spaces.</p><a class="button" href="/console/spaces">Look at your spaces</a></div>`
    : html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Find a space, choose a date and an open hour, and send a request.</p><a class="button" href="/console/find">Find a space</a></div>`;
}
