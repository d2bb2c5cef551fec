import type { Account } from '../../domain/account.ts';
import { defined } from '../../domain/defined.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named } from '../../html/names.ts';
import type { ReviewOverview } from '../../queries/reviews.ts';
import { addressOf } from '../parts/addresses.ts';
import { bookingTable } from '../parts/booking-views.ts';
import { counted } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { type Neighbours, noticeOf, pager } from '../parts/pager.ts';
import { idOf, type Routes } from '../parts/visit.ts';
import { reviewText, stars } from './review-form.ts';

const PATH = '/console/reviews';
const PER_PAGE = 20;
/** How many completed bookings are checked for a missing review. */
const CHECKED = 50;

/** A community's reviews; for a brand, the reviews it wrote and the bookings it has yet to review. */
export function reviewPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(PATH, async (visit) => {
    const { account, query } = visit;
    const place = defined({ before: idOf(query.text('before')), after: idOf(query.text('after')) });
    const overview = await queries.reviews.overview(account, { ...place, limit: PER_PAGE });
    const { reviews: shown } = overview;
    const zones = new Map<number, string>();
    for (const id of new Set(shown.map(({ communityId }) => communityId)))
      zones.set(id, (await queries.spaces.community(id))?.timeZone ?? visit.zone);
    return {
      title: 'Reviews',
      section: 'reviews',
      flash: noticeOf(query, place),
      main: html`<div class="head"><div><h1>Reviews</h1><p class="lead">${account.kind === 'Community' ? 'What brands say about your spaces.' : 'Your reviews of spaces you have used.'}</p></div></div>
${account.kind === 'Brand' && (await awaitingReview(account, overview))}
<div class="stack full" id="reviews" data-live-region>${
        shown.length === 0
          ? empty(account)
          : html`${account.kind === 'Community' && summary(overview)}${shown.map(
              (review) =>
                html`<article class="card"><p class="muted"><a href="/console/bookings/${review.bookingId}">${named(review.spaceName)}</a></p>${reviewText(review, zones.get(review.communityId) ?? visit.zone)}</article>`,
            )}`
      }${pager(pagesBeside(overview))}</div>`,
    };
  });

  async function awaitingReview(account: Account, { reviewed }: ReviewOverview): Promise<Html | undefined> {
    const { bookings } = await queries.bookings.page(account, {
      status: 'Completed',
      direction: 'descending',
      limit: CHECKED,
    });
    const open = bookings.filter(({ bookingId }) => !reviewed.has(bookingId));
    return open.length === 0
      ? undefined
      : html`<section class="stack full"><h2>Waiting for your review</h2>${bookingTable(open, account, 'Completed bookings without a review')}</section>`;
  }
}

const pagesBeside = ({ previous, next }: ReviewOverview): Neighbours => ({
  first: previous === undefined ? undefined : PATH,
  previous: previous === undefined ? undefined : addressOf(PATH, { after: String(previous) }),
  next: next === undefined ? undefined : addressOf(PATH, { before: String(next) }),
});

function summary({ byRating }: ReviewOverview): Html {
  const of = (rating: number) => byRating.get(rating) ?? 0;
  const ratings = [5, 4, 3, 2, 1];
  const count = ratings.reduce((sum, rating) => sum + of(rating), 0);
  const average = ratings.reduce((sum, rating) => sum + rating * of(rating), 0) / count;
  return html`<section class="card review-summary"><p class="figure">${average.toFixed(1)}</p><div><p>${stars(Math.round(average))}</p><p class="muted">${counted(count, 'review')}</p></div>
<dl class="facts">${ratings.map((rating) => html`<dt>${counted(rating, 'star')}</dt><dd>${of(rating)}</dd>`)}</dl></section>`;
}

const empty = (account: Account): Html =>
  account.kind === 'Community'
    ? html`<div class="empty">${icon('star')}<h2>No reviews yet</h2><p>Brands can review your spaces after their events. New reviews appear here right away.</p><a class="button quiet" href="/console/bookings?when=past">View past bookings</a></div>`
    : html`<div class="empty">${icon('star')}<h2>You have not written a review yet</h2><p>After an event, open the booking to write one.</p><a class="button quiet" href="/console/bookings?when=past">View past bookings</a></div>`;
