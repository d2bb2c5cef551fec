import type { ReviewDocument } from '../../projections/reviews.ts';
import type { Account } from '../domain/account.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { named } from '../html/names.ts';
import { bookingTable } from './booking-views.ts';
import { counted } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import { reviewText, stars } from './review-form.ts';
import { idOf, type Routes } from './visit.ts';

const PER_PAGE = 20;
/** How many completed bookings are checked for a missing review. */
const CHECKED = 50;

/** A community's reviews; for a brand, the reviews it wrote and the bookings it has yet to review. */
export function reviewPages(routes: Routes, { queries }: PageDeps): void {
  routes.get('/console/reviews', async (visit) => {
    const { account, query } = visit;
    const reviews = await queries.reviews.listOfAccount(account);
    const page = Math.max(1, idOf(query.text('page')) ?? 1);
    const shown = reviews.slice((page - 1) * PER_PAGE, page * PER_PAGE);
    const zones = new Map<number, string>();
    for (const id of new Set(shown.map(({ communityId }) => communityId)))
      zones.set(id, (await queries.spaces.community(id))?.timeZone ?? visit.zone);
    return {
      title: 'Reviews',
      section: 'reviews',
      main: html`<div class="head"><div><h1>Reviews</h1><p class="lead">${account.kind === 'Community' ? 'What brands say about your spaces.' : 'Your reviews of spaces you have used.'}</p></div></div>
${account.kind === 'Brand' && (await awaitingReview(account, reviews))}
<div class="stack full" id="reviews" data-live-region>${
        reviews.length === 0
          ? empty(account)
          : html`${account.kind === 'Community' && summary(reviews)}${shown.map(
              (review) =>
                html`<article class="card"><p class="muted"><a href="/console/bookings/${review.bookingId}">${named(review.spaceName)}</a></p>${reviewText(review, zones.get(review.communityId) ?? visit.zone)}</article>`,
            )}`
      }${
        reviews.length > PER_PAGE &&
        html`<nav class="pager" aria-label="Pages">${page > 1 ? html`<a class="button quiet" href="/console/reviews?page=${page - 1}">${icon('back')} Newer</a>` : html`<span></span>`}${page * PER_PAGE < reviews.length && html`<a class="button quiet" href="/console/reviews?page=${page + 1}">Older ${icon('next')}</a>`}</nav>`
      }</div>`,
    };
  });

  async function awaitingReview(account: Account, reviews: readonly ReviewDocument[]): Promise<Html | undefined> {
    const { bookings } = await queries.bookings.page(account, {
      status: 'Completed',
      direction: 'descending',
      limit: CHECKED,
    });
    const reviewed = new Set(reviews.map(({ bookingId }) => bookingId));
    const open = bookings.filter(({ bookingId }) => !reviewed.has(bookingId));
    return open.length === 0
      ? undefined
      : html`<section class="stack full"><h2>Waiting for your review</h2>${bookingTable(open, account, 'Completed bookings without a review')}</section>`;
  }
}

function summary(reviews: readonly ReviewDocument[]): Html {
  const average = reviews.reduce((sum, { rating }) => sum + rating, 0) / reviews.length;
  return html`<section class="card review-summary"><p class="figure">${average.toFixed(1)}</p><div><p>${stars(Math.round(average))}</p><p class="muted">${counted(reviews.length, 'review')}</p></div>
<dl class="facts">${[5, 4, 3, 2, 1].map((rating) => html`<dt>${counted(rating, 'star')}</dt><dd>${reviews.filter((review) => review.rating === rating).length}</dd>`)}</dl></section>`;
}

const empty = (account: Account): Html =>
  account.kind === 'Community'
    ? html`<div class="empty">${icon('star')}<h2>No reviews yet</h2><p>Brands can review your spaces after their events. New reviews appear here right away.</p><a class="button quiet" href="/console/bookings?when=past">View past bookings</a></div>`
    : html`<div class="empty">${icon('star')}<h2>You have not written a review yet</h2><p>After an event, open the booking to write one.</p><a class="button quiet" href="/console/bookings?when=past">View past bookings</a></div>`;
