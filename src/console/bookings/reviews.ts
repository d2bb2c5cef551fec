import type { ReadableReview } from '../../../projections/reviews.ts';
import { defined } from '../../domain/defined.ts';
import type { SpaceId } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { bookingTable } from '../parts/booking-views.ts';
import { select } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { cursorPager, type Fields, noticeOf } from '../parts/links.ts';
import { otherPartyOf } from '../parts/other-party.ts';
import { reviewText, stars } from '../parts/review-views.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { type Form, idOf, NO_SUCH_SPACE, type Problems } from '../parts/typed-form.ts';
import { may, type Visit } from '../parts/visit.ts';
import { canAnswer } from './review-form.ts';

const PATH = '/console/reviews';
const PER_PAGE = 20;
/** How many completed bookings are checked for a missing review. */
const CHECKED = 30;

/** A community's reviews; for a brand, the reviews it wrote and the bookings it has yet to review. */
export function reviewPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(PATH, 'Viewer', async (visit) => {
    const { account, query, zone } = visit;
    const isCommunity = account.kind === 'Community';
    const cursors = defined({ before: idOf(query.text('before')), after: idOf(query.text('after')) });
    const spaces = isCommunity ? await queries.spaces.list(account) : [];
    const { filter, problems } = isCommunity ? filterOf(query, spaces) : NO_FILTER;
    const [{ reviews, previous, next }, byRating] = await Promise.all([
      queries.reviews.pageOf(account, { ...cursors, ...filter, limit: PER_PAGE }),
      isCommunity ? queries.reviews.byRating(account.id, filter.spaceId) : undefined,
    ]);
    const isFiltered = Object.keys(filter).length > 0;
    const communities = await queries.spaces.communitiesOf(reviews);
    return {
      title: 'Reviews',
      lead: isCommunity ? 'What brands say about your spaces.' : 'Your reviews of spaces you have used.',
      problems,
      flash: noticeOf(query, cursors),
      main: html`${!isCommunity && may(visit, 'Coordinator') && (await awaitingReview(visit))}
<div class="stack full" id="reviews" data-live-region>${
        byRating &&
        (isFiltered || byRating.size > 0) &&
        html`${summary(byRating)}${filterForm(filter, spaces, problems)}`
      }${
        reviews.length === 0
          ? empty(visit, filter)
          : reviews.map((review) => {
              const community = communities.get(review.communityId);
              return reviewCard(visit, review, community?.timeZone ?? zone, community?.name);
            })
      }${cursorPager(PATH, fieldsOf(filter), { previous: previous?.toString(), next: next?.toString() }, 'before')}</div>`,
    };
  });

  async function awaitingReview(visit: Visit): Promise<Html | undefined> {
    const { account } = visit;
    const completed = { list: { status: 'Completed' }, direction: 'descending', limit: CHECKED } as const;
    const { bookings } = await queries.bookings.page(account, completed);
    const reviewed = await queries.reviews.reviewedAmong(bookings.map(({ bookingId }) => bookingId));
    const unreviewed = bookings.filter(({ bookingId }) => !reviewed.has(bookingId));
    if (unreviewed.length === 0) return undefined;
    const party = await otherPartyOf(queries, account, unreviewed);
    return html`<section class="stack full"><h2>Waiting for your review</h2>${bookingTable(
      visit,
      unreviewed,
      party,
      'Completed bookings without a review',
      ({ bookingId, spaceName }) =>
        html`<a class="button quiet small" href="/console/bookings/${bookingId}#review"
aria-label="Review ${namedText(spaceName)}, booking #${bookingId}">Review</a>`,
    )}</section>`;
  }
}

function reviewCard(visit: Visit, review: ReadableReview, zone: string, communityName: string | undefined): Html {
  const { account } = visit;
  const page = `/console/bookings/${review.bookingId}`;
  const house = account.kind === 'Brand' && communityName && html`, ${named(communityName)}`;
  const answer =
    may(visit, 'Coordinator') &&
    canAnswer(account, review) &&
    html`<p><a href="${page}#review">Answer<span class="visually-hidden"> the review of booking #${review.bookingId}</span></a></p>`;
  return html`<article class="card"><p class="muted"><a href="${page}">${named(review.spaceName)}</a>${house}</p>
${reviewText(review, zone)}${answer}</article>`;
}

/** Which reviews a community wants to see. */
type Filter = { readonly spaceId?: SpaceId; readonly rating?: number };

const NO_FILTER: ReturnType<typeof filterOf> = { filter: {}, problems: {} };

function filterOf(query: Form, spaces: readonly Space[]): { readonly filter: Filter; readonly problems: Problems } {
  const id = idOf(query.text('space'));
  const rating = RATINGS.find((one) => query.text('rating') === String(one));
  const spaceId = spaces.find((space) => space.spaceId === id)?.spaceId;
  const isKnown = query.text('space') === '' || spaceId !== undefined;
  return { filter: defined({ spaceId, rating }), problems: isKnown ? {} : { space: NO_SUCH_SPACE } };
}

const fieldsOf = ({ spaceId, rating }: Filter): Fields => ({ space: spaceId?.toString(), rating: rating?.toString() });

function filterForm({ spaceId, rating }: Filter, spaces: readonly Space[], problems: Problems): Html {
  const names = spaces.map((space) => ({ value: String(space.spaceId), label: namedText(space.name) }));
  const ratings = RATINGS.map((one) => ({ value: String(one), label: counted(one, 'star') }));
  return html`<form class="search short" method="get" action="${PATH}">
${select({ name: 'space', label: 'Space', value: spaceId ?? '', problems, options: [{ value: '', label: 'All spaces' }, ...names] })}
${select({ name: 'rating', label: 'Rating', value: rating ?? '', options: [{ value: '', label: 'Any rating' }, ...ratings] })}
<button class="button quiet">Show</button>
</form>`;
}

const RATINGS = [5, 4, 3, 2, 1] as const;

function summary(byRating: ReadonlyMap<number, number>): Html | undefined {
  const of = (rating: number) => byRating.get(rating) ?? 0;
  const count = RATINGS.reduce((sum, rating) => sum + of(rating), 0);
  if (count === 0) return undefined;
  const average = RATINGS.reduce((sum, rating) => sum + rating * of(rating), 0) / count;
  return html`<section class="card review-summary"><p class="figure">${average.toFixed(1)}</p>
<div><p>${stars(average)}</p><p class="muted">${counted(count, 'review')}</p></div>
<dl class="facts">${RATINGS.map((rating) => html`<dt>${counted(rating, 'star')}</dt><dd>${of(rating)}</dd>`)}</dl></section>`;
}

function empty(visit: Visit, filter: Filter): Html {
  if (Object.keys(filter).length > 0) {
    const all = buttonLink(PATH, 'Show all reviews');
    return emptyState('star', 'No reviews match', all)`Choose another space or rating.`;
  }
  const past = buttonLink('/console/bookings?when=past', 'View past bookings', 'quiet');
  const [heading, text] =
    visit.account.kind === 'Community'
      ? ['No reviews yet', 'Brands can review your spaces after their events. New reviews appear here right away.']
      : may(visit, 'Coordinator')
        ? ['You have not written a review yet', 'After an event, open the booking to write one.']
        : ['No reviews yet', 'After an event, a Coordinator or a Manager can write one.'];
  return emptyState('star', heading, past)`${text}`;
}
