import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { communities } from '../../projections/communities.ts';
import { type ReadableReview, type ReviewDocument, reviews } from '../../projections/reviews.ts';
import type { Find, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import {
  type BookingId,
  type BrandId,
  brandId,
  type CommunityId,
  bookingId as toBookingId,
  communityId as toCommunityId,
} from '../domain/ids.ts';
import { inPages } from '../runtime/in-pages.ts';
import { ownedBy } from './booking-pages.ts';
import { documentsOf, isAny } from './documents.ts';
import type { QueryDeps } from './query-deps.ts';

const anyCompleted = declareQuery(
  bookings,
  (brand: BrandId, communityId: CommunityId): Find<BookingDocument> => ({
    where: { brandId: brand, communityId, status: 'Completed' },
    limit: 1,
  }),
  [brandId(1), toCommunityId(1)],
);

const ofCommunity = declareQuery(
  reviews,
  (communityId: CommunityId): Find<ReviewDocument> => ({ where: { communityId }, sort: [{ field: 'reviewId' }] }),
  [toCommunityId(1)],
);

const newestOfCommunity = declareQuery(
  reviews,
  (communityId: CommunityId, before: number | undefined, limit: number): Find<ReviewDocument> => ({
    where: { communityId, ...(before !== undefined && { reviewId: { below: before } }) },
    sort: [{ field: 'reviewId', direction: 'descending' }],
    limit,
  }),
  [toCommunityId(1), undefined, 1],
  [toCommunityId(1), 7, 1],
);

const newestOf = declareQuery(
  reviews,
  (account: Account): Find<ReviewDocument> => ({
    where: ownedBy(account),
    sort: [{ field: 'reviewId', direction: 'descending' }],
  }),
  [{ kind: 'Community', id: toCommunityId(1) }],
  [{ kind: 'Brand', id: brandId(1) }],
);

const ofBooking = declareQuery(
  reviews,
  (bookingId: BookingId): Find<ReviewDocument> => ({ where: { bookingId }, limit: 1 }),
  [toBookingId(1)],
);

type PageQuery = { readonly communityId: number; readonly before?: number; readonly limit: number };

export type ReviewPage = { readonly reviews: readonly ReadableReview[]; readonly more: boolean };

type OverviewQuery = {
  /** Only those before this one. */
  readonly before?: number;
  /** The page that ends before this one. Takes precedence. */
  readonly after?: number;
  readonly limit: number;
  /** Only those of one space. */
  readonly spaceId?: number;
  /** Only those with this rating. The figures count every rating. */
  readonly rating?: number;
};

export type ReviewOverview = {
  readonly reviews: readonly ReadableReview[];
  /** The `after` of the previous page. Undefined on the first page. */
  readonly previous: number | undefined;
  /** The `before` of the next page. Undefined on the last page. */
  readonly next: number | undefined;
  /** The number of reviews by rating, 1 to 5; only those of the space, if one is asked for. */
  readonly byRating: ReadonlyMap<number, number>;
  /** The bookings that have been reviewed. */
  readonly reviewed: ReadonlySet<BookingId>;
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
  const completed = anyCompleted(account.id, toCommunityId(communityId));
  return isAny(readModels.collection(bookings).find(completed));
}

export function createReviewQueries({ readModels, personalData }: QueryDeps) {
  async function* readable(found: AsyncIterable<Stored<ReviewDocument>>): AsyncGenerator<ReadableReview> {
    for await (const page of inPages(found, OPENED_TOGETHER))
      yield* await personalData.openReviews(page.map(({ document }) => document));
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
     * Equal versions mean equal lists. Reviews are only added, so their number and highest id identify the list. The number of
     * forgotten subjects identifies their texts, and the collection a rebuild, which may correct documents without an event.
     */
    async versionOf(communityId: number): Promise<string> {
      const documents = readModels.collection(reviews);
      const newest = newestOfCommunity(toCommunityId(communityId), undefined, 1);
      const [count, forgotten, [last]] = await Promise.all([
        documents.count(newest),
        personalData.forgottenVersion(),
        documentsOf(documents.find(newest)),
      ]);
      return `${readModels.nameOf(reviews)}.${count}.${last?.reviewId ?? 0}.${forgotten}`;
    },

    /** One page of the reviews of a community, newest first. `before` is the last review of the previous page. */
    async page(account: Account, { communityId, before, limit }: PageQuery): Promise<ReviewPage | Refusal> {
      const refused = await refuseReading(account, communityId);
      if (refused !== undefined) return refused;
      const query = newestOfCommunity(toCommunityId(communityId), before, limit + 1);
      const found = await documentsOf(readModels.collection(reviews).find(query));
      return { reviews: await personalData.openReviews(found.slice(0, limit)), more: found.length > limit };
    },

    /**
     * A page of the reviews of a community's spaces, or of those a brand wrote, newest first, with figures over all of them. Opens
     * only the texts of the page.
     */
    async overview(account: Account, query: OverviewQuery): Promise<ReviewOverview> {
      const { page, ...overview } = await overviewOf(readModels.collection(reviews).find(newestOf(account)), query);
      return { ...overview, reviews: await personalData.openReviews(page) };
    },

    /** The review of a booking, which the caller has found visible. */
    async ofBooking(booking: Pick<ReviewDocument, 'bookingId'>): Promise<ReadableReview | undefined> {
      const found = readModels.collection(reviews).find(ofBooking(booking.bookingId));
      for await (const review of readable(found)) return review;
      return undefined;
    },
  };
}

/** Reads all reviews, newest first, and keeps those of the page. */
async function overviewOf(
  found: AsyncIterable<Stored<ReviewDocument>>,
  { before, after, limit, ...only }: OverviewQuery,
): Promise<Omit<ReviewOverview, 'reviews'> & { readonly page: readonly ReviewDocument[] }> {
  const byRating = new Map<number, number>();
  const reviewed = new Set<BookingId>();
  /** The newest, the newest of those before `before`, and the oldest of those after `after`: one more than fits on the page. */
  const newest: ReviewDocument[] = [];
  const older: ReviewDocument[] = [];
  const newer: ReviewDocument[] = [];
  for await (const { document } of found) {
    const { rating, bookingId, reviewId, spaceId } = document;
    reviewed.add(bookingId);
    if (only.spaceId !== undefined && spaceId !== only.spaceId) continue;
    byRating.set(rating, (byRating.get(rating) ?? 0) + 1);
    if (only.rating !== undefined && rating !== only.rating) continue;
    if (newest.length <= limit) newest.push(document);
    if (before !== undefined && reviewId < before && older.length <= limit) older.push(document);
    if (after !== undefined && reviewId > after && newer.push(document) > limit + 1) newer.shift();
  }
  // A page read backwards that reaches the beginning may be short, so show the first page instead.
  const isNewer = newer.length > limit;
  const isOlder = !isNewer && after === undefined && older.length > 0;
  const page = isNewer ? newer.slice(1) : (isOlder ? older : newest).slice(0, limit);
  const more = isNewer || (isOlder ? older : newest).length > limit;
  const previous = isNewer || isOlder ? page[0]?.reviewId : undefined;
  return { page, previous, next: more ? page.at(-1)?.reviewId : undefined, byRating, reviewed };
}
