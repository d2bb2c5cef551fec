import type { ReadableBooking } from '../../../projections/bookings.ts';
import type { ReadableReview } from '../../../projections/reviews.ts';
import { brandOf } from '../../domain/account.ts';
import { isLetIn, type Standing } from '../../domain/admission.ts';
import type { Until } from '../../domain/as-of.ts';
import { startOf } from '../../domain/booking-moments.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { type Html, html, named, written } from '../../html/html.ts';
import { newBrandNote } from '../find/new-brand-note.ts';
import { spacePath } from '../find/space-path.ts';
import { type Answer, done, nothingToDo } from '../parts/answer.ts';
import { backTo, viaField, withVia } from '../parts/back-link.ts';
import { priceView, statusBadge } from '../parts/booking-views.ts';
import { problemOf } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { customerPath } from '../parts/links.ts';
import { reviewText } from '../parts/review-views.ts';
import { bookingRoutes, type ConsoleRoutes, type PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import { type AmountFormat, may, type Visit } from '../parts/visit.ts';
import { admissionForms, brandMarks, LET_IN } from '../requests/admission-forms.ts';
import { bookingFacts } from '../requests/booking-facts.ts';
import { decisionFacts, decisionFactsOf } from '../requests/decision-facts.ts';
import { decisionForms, declineForm, reasonSuggestions } from '../requests/decision-forms.ts';
import { canEnd, deadlineOver } from '../requests/decisions.ts';
import { recentReasons } from '../requests/inbox-reads.ts';
import { moveLink, waitingMove } from '../requests/move-views.ts';
import { seriesSection } from '../requests/series.ts';
import { momentOfInput, timeline } from './booking-timeline.ts';
import { aboutBooking, messageForms, messagesCard, newlyRead, notesCard } from './messages.ts';
import { answerForm, canAnswer, canReview, reviewForm } from './review-form.ts';

/** The page of a single booking, and the actions that each party may take on it. */
export function bookingPages(routes: ConsoleRoutes, deps: PageDeps): void {
  const { commands, queries, users } = deps;
  bookingRoutes(routes, queries).get('/console/bookings/:id', 'Viewer', bookingPage);

  bookingRoutes(routes.brand, queries).post('/console/bookings/:id/review', 'Coordinator', async (visit, booking) => {
    const { account, form } = visit;
    const { bookingId } = booking;
    const written = { rating: form.integer('rating'), title: form.text('title'), content: form.lines('content') };
    const outcome = await commands.reviews.post({ bookingId, brandId: account.id, ...written }, visit.context);
    const back = withVia(visit, `/console/bookings/${bookingId}`);
    if (!isRefusal(outcome)) return done(back, 'Thank you. Your review has been published.');
    return outcome.refused === 'ValidationError'
      ? bookingPage(visit, booking, problemOf(outcome, { rating: 'Rating', title: 'Headline', content: 'Review' }))
      : nothingToDo(back, outcome.details);
  });

  bookingRoutes(routes.community, queries).post(
    '/console/bookings/:id/answer',
    'Coordinator',
    async (visit, booking) => {
      const { bookingId, communityId } = booking;
      const answer = visit.form.lines('answer');
      const outcome = await commands.reviews.answer({ bookingId, communityId, answer }, visit.context);
      const back = withVia(visit, `/console/bookings/${bookingId}`);
      if (!isRefusal(outcome)) return done(back, 'Your answer has been published.');
      return outcome.refused === 'ValidationError'
        ? bookingPage(visit, booking, problemOf(outcome, { answer: 'Your answer' }))
        : nothingToDo(back, outcome.details);
    },
  );

  messageForms(routes, deps, bookingPage);

  /** What stands in place of the form for a message, if the brand is a customer to whose account no person belongs. */
  async function withoutReaders(booking: ReadableBooking): Promise<Html | undefined> {
    const { communityId, brandId, approval } = booking;
    // Only bookings of such customers are entered.
    if (approval !== 'entered' || (await users.membersOf(brandOf(booking))).length > 0) return undefined;
    const customer = await queries.customers.get(communityId, brandId);
    if (!customer?.isKept) return undefined;
    return html`<p class="muted">This customer has no account yet, so no person would read a message.
<a href="${customerPath(brandId)}">Invite a person</a></p>`;
  }

  async function bookingPage(visit: Visit, booking: ReadableBooking, problems: Problems = {}): Promise<Answer> {
    const { account, query } = visit;
    const { bookingId, communityId, status } = booking;
    const isCommunity = account.kind === 'Community';
    const asOf = momentOfInput(query.text('at'), booking.timeZone);
    const historyUntil = (to: Until) => queries.bookingHistory.ofBooking(account, bookingId, to);
    const isAsked = isCommunity && status === 'Pending';
    const mayAct = may(visit, 'Coordinator');
    const [history, then, review, decision, reasons, community, brands, note, messages, notes, days] =
      await Promise.all([
        historyUntil({}),
        asOf === undefined ? undefined : historyUntil({ asOf }),
        status === 'Completed' ? queries.reviews.ofBooking(booking) : undefined,
        isAsked ? decisionFactsOf(queries, booking) : undefined,
        isAsked && mayAct ? recentReasons(queries, account) : [],
        queries.spaces.community(communityId),
        isAsked ? queries.admissions.ofBrands(communityId, [booking.brandId]) : undefined,
        !isCommunity && status === 'Pending' ? newBrandNote(queries, booking) : undefined,
        queries.threads.ofBooking(booking),
        isCommunity ? queries.threads.notesOf(account, booking) : undefined,
        queries.requests.series(booking),
      ]);
    const instead = isCommunity && mayAct ? await withoutReaders(booking) : undefined;
    const other = named(isCommunity ? booking.brandName : (community?.name ?? 'The community'));
    const brand = brands?.get(booking.brandId) ?? LET_IN;
    return {
      title: `Booking #${bookingId}`,
      heading: named(isCommunity ? booking.brandName : booking.spaceName),
      lead: html`Booking #${bookingId}${!isCommunity && community && html`, ${named(community.name)}`}`,
      back: backTo(visit, { href: '/console/bookings', label: isCommunity ? 'Bookings' : 'My bookings' }),
      actions: statusBadge(booking),
      problems,
      ...defined({ read: newlyRead(visit, bookingId, messages) }),
      main: html`<div class="split"><div>
<section class="card" id="booking-facts" data-live-region><h2 class="visually-hidden">Details</h2>
${bookingFacts(visit, booking, isCommunity ? undefined : community?.name)}
${
  booking.message &&
  html`<div><p class="muted small">${isCommunity ? 'Message from the brand' : 'Your message'}</p>${written(booking.message)}</div>`
}
${decision && html`<div class="stack tight">${decisionFacts(booking, decision)}</div>`}
${seriesSection(visit, booking, days)}${brandMarks(brand)}${note && html`<p class="small">${note}</p>`}
${waitingMove(visit, booking)}
${mayAct && actions(visit, booking, brand.standing)}${reasons.length > 0 && reasonSuggestions(reasons)}</section>
${messagesCard(visit, aboutBooking(booking, other), messages, { problems, instead })}
${reviewCard(visit, booking, review, problems)}
</div><div>
${visit.amount && priceCard(visit, visit.amount, booking)}
${notes && notesCard(visit, booking, notes, problems)}
<section class="card" id="booking-timeline" data-live-region><h2>Timeline</h2>
${timeline(visit, history?.steps ?? [], booking, query.text('at'), then)}</section>
</div></div>`,
    };
  }
}

/** The review of a booking, and the form that writes or answers it. */
function reviewCard(
  visit: Visit,
  booking: ReadableBooking,
  review: ReadableReview | undefined,
  problems: Problems,
): Html | undefined {
  const { account } = visit;
  const mayAct = may(visit, 'Coordinator');
  if (review === undefined)
    return mayAct && canReview(account, booking, review)
      ? html`<section class="card" id="review"><h2>How was it?</h2>${reviewForm(visit, booking, problems)}</section>`
      : undefined;
  const heading = account.kind === 'Community' ? 'Review' : 'Your review';
  return html`<section class="card" id="review"><h2>${heading}</h2>${reviewText(review, booking.timeZone)}
${mayAct && canAnswer(account, review) && answerForm(visit, booking, problems)}</section>`;
}

function actions(visit: Visit, booking: ReadableBooking, standing: Standing): Html | undefined {
  const { bookingId, spaceId, status } = booking;
  const { kind } = visit.account;
  if (kind === 'Brand' && isOver(booking, visit.now))
    return html`<div class="row">${buttonLink(spacePath(spaceId, { again: bookingId }), 'Book again', 'quiet')}</div>`;
  if (!canEnd(visit, booking)) {
    const over = kind === 'Brand' ? deadlineOver(visit, booking) : undefined;
    return over === undefined
      ? undefined
      : html`<p class="muted small">${over}</p><div class="row">${moveLink(visit, booking)}</div>`;
  }
  const formPage = { fields: viaField(visit) };
  if (kind === 'Community' && status === 'Pending')
    return html`<div class="decision">${
      isLetIn(standing)
        ? decisionForms(visit, booking, formPage)
        : admissionForms(visit, booking, { standing, decline: declineForm(visit, booking, formPage), formPage })
    }</div><div class="row">${moveLink(visit, booking)}</div>`;
  const label = status === 'Pending' ? 'Withdraw request…' : 'Cancel booking…';
  return html`<div class="row">${moveLink(visit, booking)}
${buttonLink(withVia(visit, `/console/bookings/${bookingId}/cancel`), label, 'danger')}</div>`;
}

/** Whether to offer booking the same again. */
const isOver = (booking: ReadableBooking, now: number): boolean =>
  booking.status === 'Cancelled' || booking.status === 'Completed' || startOf(booking) <= now;

const priceCard = (visit: Visit, amount: AmountFormat, booking: ReadableBooking): Html =>
  html`<section class="card" id="booking-price" data-live-region><h2>Price</h2>
${priceView(visit, amount, booking)}${charged(amount, booking)}</section>`;

const charged = (amount: AmountFormat, { charge, refund, currency, status }: ReadableBooking): Html => {
  // As high as the line that replaces it after an approval, so that nothing moves on an open page.
  if (charge === undefined)
    return html`<dl class="price"><dt>Charged</dt><dd>${status === 'Cancelled' ? 'nothing' : 'nothing yet'}</dd></dl>`;
  return html`<dl class="price"><dt>Charged</dt><dd>${amount(charge, currency)}</dd>${
    refund !== undefined && refund > 0 && html`<dt>Refunded</dt><dd>${amount(refund, currency)}</dd>`
  }</dl>`;
};
