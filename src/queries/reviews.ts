import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { communities } from '../../projections/communities.ts';
import { type ReadableReview, type ReviewDocument, reviews } from '../../projections/reviews.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import {
  type BookingId,
  type BrandId,
  type CommunityId,
  type SpaceId,
  bookingId as toBookingId,
  communityId as toCommunityId,
  spaceId as toSpaceId,
} from '../domain/ids.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { ownedBy } from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { type Beginning, newestFirst, readPage } from './read-page.ts';
import { BRAND, COMMUNITY } from './samples.ts';

const anyCompleted = declareQuery(
  bookings,
  (brand: BrandId, communityId: CommunityId): Find<BookingDocument> => ({
    where: { brandId: brand, communityId, status: 'Completed' },
    limit: 1,
  }),
  [BRAND.id, COMMUNITY.id],
);

const completedOf = declareQuery(
  bookings,
  (brand: BrandId): Find<BookingDocument> => ({ where: { brandId: brand, status: 'Completed' } }),
  [BRAND.id],
);

const ofCommunity = declareQuery(
  reviews,
  (communityId: CommunityId): Find<ReviewDocument> => ({ where: { communityId }, sort: [{ field: 'reviewId' }] }),
  [COMMUNITY.id],
);

const newestOfCommunity = declareQuery(
  reviews,
  (communityId: CommunityId, before: number | undefined, limit: number): Find<ReviewDocument> => ({
    where: { communityId, ...(before !== undefined && { reviewId: { below: before } }) },
    sort: [{ field: 'reviewId', direction: 'descending' }],
    limit,
  }),
  [COMMUNITY.id, undefined, 1],
  [COMMUNITY.id, 7, 1],
);

const answeredOf = declareQuery(
  reviews,
  (communityId: CommunityId): Find<ReviewDocument> => ({ where: { communityId, wasAnswered: 'yes' } }),
  [COMMUNITY.id],
);

/** Which reviews of an account: of one space, with one rating. */
type ReviewFilter = { readonly spaceId?: SpaceId; readonly rating?: number };

const listed = declareQuery(
  reviews,
  (account: Account, { spaceId, rating }: ReviewFilter, page?: Beginning<number>): Find<ReviewDocument> => {
    const { beyond: reviewId, direction } = newestFirst(page ?? {});
    return {
      where: { ...ownedBy(account), ...defined({ spaceId, rating, reviewId }) },
      ...(page && { sort: [{ field: 'reviewId', direction }], limit: page.limit }),
    };
  },
  [COMMUNITY, {}],
  [COMMUNITY, { spaceId: toSpaceId(1) }],
  [COMMUNITY, { spaceId: toSpaceId(1), rating: 5 }, { isBackwards: false, after: 7, limit: 1 }],
  [BRAND, {}, { isBackwards: false, after: undefined, limit: 1 }],
  [BRAND, {}, { isBackwards: true, after: 7, limit: 1 }],
);

const ofBookings = declareQuery(
  reviews,
  (bookingIds: readonly BookingId[]): Find<ReviewDocument> => ({ where: { bookingId: { in: bookingIds } } }),
  [[toBookingId(1), toBookingId(2)]],
);

const ofBooking = declareQuery(
  reviews,
  (bookingId: BookingId): Find<ReviewDocument> => ({ where: { bookingId }, limit: 1 }),
  [toBookingId(1)],
);

type PageQuery = { readonly communityId: number; readonly before?: number; readonly limit: number };

export type ReviewPage = { readonly reviews: readonly ReadableReview[]; readonly more: boolean };

type ListQuery = ReviewFilter & {
  readonly before?: number;
  /** The page that ends before this review. Takes precedence. */
  readonly after?: number;
  readonly limit: number;
};

/** Reviews whose texts are opened in one batch. */
const OPENED_TOGETHER = 200;

/** A community reads its own reviews, a brand those of communities with which it has completed a booking (docs/decisions/bookings.md). */
export async function mayReadReviews(
  { readModels }: Pick<QueryDeps, 'readModels'>,
  account: Account,
  communityId: number,
): Promise<boolean> {
  if (account.kind === 'Community') return account.id === communityId;
  const completed = await readModels.collection(bookings).list(anyCompleted(account.id, toCommunityId(communityId)));
  return completed.length > 0;
}

/** The communities, among these, whose reviews an account may read ({@link mayReadReviews}), in one query. */
export async function readableCommunities(
  { readModels }: Pick<QueryDeps, 'readModels'>,
  account: Account,
  asked: Iterable<CommunityId>,
): Promise<ReadonlySet<CommunityId>> {
  const communities = new Set(asked);
  if (account.kind === 'Community') return communities.intersection(new Set([account.id]));
  if (communities.size === 0) return communities;
  const completed = await readModels.collection(bookings).groups(completedOf(account.id), ['communityId']);
  return communities.intersection(new Set(completed.map(({ values }) => values.communityId)));
}

export function createReviewQueries({ readModels, personalData }: QueryDeps) {
  async function* readable(sealed: AsyncIterable<ReviewDocument>): AsyncGenerator<ReadableReview> {
    for await (const page of inPages(sealed, OPENED_TOGETHER)) yield* await personalData.openReviews(page);
  }

  async function refuseReading(account: Account, communityId: number): Promise<Refusal | undefined> {
    const exists = (await readModels.collection(communities).get(String(communityId))) !== undefined;
    return exists && (await mayReadReviews({ readModels }, account, communityId))
      ? undefined
      : refuse('ResourceNotFound', `There are no reviews of community ${communityId} for this caller.`);
  }

  return {
    /** The reviews of a community that the caller may read, oldest first. */
    async list(account: Account, communityId: number): Promise<AsyncIterable<ReadableReview> | Refusal> {
      const refused = await refuseReading(account, communityId);
      if (refused !== undefined) return refused;
      return readable(readModels.collection(reviews).find(ofCommunity(toCommunityId(communityId))));
    },

    /**
     * Equal versions mean equal lists. Reviews and answers are only added, so their numbers and the highest id identify the list. The number of
     * forgotten subjects identifies their texts, and the collection a rebuild, which may correct documents without an event.
     */
    async versionOf(communityId: number): Promise<string> {
      const documents = readModels.collection(reviews);
      const newest = newestOfCommunity(toCommunityId(communityId), undefined, 1);
      const [count, answered, forgotten, [last]] = await Promise.all([
        documents.count(newest),
        documents.count(answeredOf(toCommunityId(communityId))),
        personalData.forgottenVersion(),
        documents.list(newest),
      ]);
      return `${readModels.nameOf(reviews)}.${count}.${answered}.${last?.reviewId ?? 0}.${forgotten}`;
    },

    /** One page of the reviews of a community, newest first. `before` is the last review of the previous page. */
    async page(account: Account, { communityId, before, limit }: PageQuery): Promise<ReviewPage | Refusal> {
      const refused = await refuseReading(account, communityId);
      if (refused !== undefined) return refused;
      const query = newestOfCommunity(toCommunityId(communityId), before, limit + 1);
      const matching = await readModels.collection(reviews).list(query);
      return { reviews: await personalData.openReviews(matching.slice(0, limit)), more: matching.length > limit };
    },

    /**
     * A page of the reviews of a community's spaces, or of those a brand wrote, newest first, with the `after` of the page before it and the
     * `before` of the next.
     */
    async pageOf(account: Account, query: ListQuery) {
      const { before, after, limit, ...filter } = query;
      const documents = readModels.collection(reviews);
      const { items, previous, next } = await readPage<ReviewDocument, number>(
        { limit, after: before, before: after },
        ({ reviewId }) => reviewId,
        (page) => documents.find(listed(account, filter, page)),
      );
      return { reviews: await personalData.openReviews(items), previous, next };
    },

    /** How many reviews a community has with each rating, 1 to 5; of all its spaces or of one. */
    async byRating(communityId: CommunityId, spaceId?: SpaceId): Promise<ReadonlyMap<number, number>> {
      const query = listed({ kind: 'Community', id: communityId }, defined({ spaceId }));
      const groups = await readModels.collection(reviews).groups(query, ['rating']);
      return new Map(groups.map(({ values, count }) => [values.rating, count]));
    },

    /** Which of these bookings have been reviewed. */
    async reviewedAmong(bookingIds: readonly BookingId[]): Promise<ReadonlySet<BookingId>> {
      const documents = await readModels.collection(reviews).list(ofBookings(bookingIds));
      return new Set(documents.map(({ bookingId }) => bookingId));
    },

    /** The review of a booking, which the caller has found visible. */
    async ofBooking(booking: Pick<ReviewDocument, 'bookingId'>): Promise<ReadableReview | undefined> {
      const sealed = await readModels.collection(reviews).list(ofBooking(booking.bookingId));
      const [review] = await personalData.openReviews(sealed);
      return review;
    },
  };
}
