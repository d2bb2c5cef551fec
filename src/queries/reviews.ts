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
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { inPages } from '../runtime/in-pages.ts';

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
  (communityId: CommunityId, before: number | undefined): Find<ReviewDocument> => ({
    where: { communityId, ...(before !== undefined && { reviewId: { below: before } }) },
    sort: [{ field: 'reviewId', direction: 'descending' }],
  }),
  [toCommunityId(1), undefined],
  [toCommunityId(1), 7],
);

const newestOf = declareQuery(
  reviews,
  (account: Account): Find<ReviewDocument> => ({
    where: account.kind === 'Community' ? { communityId: account.id } : { brandId: account.id },
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

/** Reviews whose texts are opened at once. */
const OPENED_AT_ONCE = 200;

export function createReviewQueries(deps: { readonly readModels: ReadModels; readonly personalData: PersonalData }) {
  const { readModels, personalData } = deps;

  async function* readable(found: AsyncIterable<Stored<ReviewDocument>>): AsyncGenerator<ReadableReview> {
    for await (const page of inPages(found, OPENED_AT_ONCE))
      yield* await personalData.openReviews(page.map(({ document }) => document));
  }

  async function mayRead(account: Account, communityId: number): Promise<boolean> {
    if (account.kind === 'Community') return account.id === communityId;
    const completed = anyCompleted(account.id, toCommunityId(communityId));
    for await (const _ of readModels.collection(bookings).find(completed)) return true;
    return false;
  }

  /** A community reads its own, a brand those of communities with which it has completed a booking (docs/decisions/reviews.md). */
  async function refuseReading(account: Account, communityId: number): Promise<Refusal | undefined> {
    const exists = (await readModels.collection(communities).get(String(communityId))) !== undefined;
    return exists && (await mayRead(account, communityId))
      ? undefined
      : refuse('ResourceNotFound', `There are no reviews of community ${communityId} for this caller.`);
  }

  return {
    /** The reviews of a community, oldest first. Those that the caller may not read do not exist for it. */
    async list(account: Account, communityId: number): Promise<AsyncIterable<ReadableReview> | Refusal> {
      const refused = await refuseReading(account, communityId);
      if (refused !== undefined) return refused;
      return readable(readModels.collection(reviews).find(ofCommunity(toCommunityId(communityId))));
    },

    /** One page of the reviews of a community, newest first. `before` is the last review of the page before. */
    async page(
      account: Account,
      {
        communityId,
        before,
        limit,
      }: { readonly communityId: number; readonly before?: number; readonly limit: number },
    ): Promise<{ readonly reviews: readonly ReadableReview[]; readonly more: boolean } | Refusal> {
      const refused = await refuseReading(account, communityId);
      if (refused !== undefined) return refused;
      const page: ReviewDocument[] = [];
      for await (const { document } of readModels
        .collection(reviews)
        .find(newestOfCommunity(toCommunityId(communityId), before))) {
        if (page.length === limit) return { reviews: await personalData.openReviews(page), more: true };
        page.push(document);
      }
      return { reviews: await personalData.openReviews(page), more: false };
    },

    /** The reviews of a community's spaces, or those a brand wrote; newest first. */
    async listOfAccount(account: Account): Promise<ReadableReview[]> {
      return Array.fromAsync(readable(readModels.collection(reviews).find(newestOf(account))));
    },

    /** The review of a booking. Whether the caller may see the booking is checked before. */
    async ofBooking(booking: Pick<ReviewDocument, 'bookingId'>): Promise<ReadableReview | undefined> {
      const found = readModels.collection(reviews).find(ofBooking(booking.bookingId));
      for await (const review of readable(found)) return review;
      return undefined;
    },
  };
}
