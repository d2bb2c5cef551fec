import { bookings } from '../../projections/bookings.ts';
import { brandChanges } from '../../projections/brand-changes.ts';
import { communityChanges } from '../../projections/community-changes.ts';
import { type ReviewDocument, reviews } from '../../projections/reviews.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { type CommunityId, communityId as toCommunityId } from '../domain/ids.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import type { QueryDeps } from './query-deps.ts';

/** The version of a list: equal versions mean equal lists (docs/decisions/rest-api.md). */
export type ListVersion = {
  readonly id: string;
  /** Whether a read from now on returns this version or a later one. Waits briefly for it. */
  isShown(): Promise<boolean>;
};

/** How long to wait for a list that lags behind its version. */
const SHOWN_WITHIN_MS = 250;

const lastOfCommunity = declareQuery(
  reviews,
  (communityId: CommunityId): Find<ReviewDocument> => ({
    where: { communityId },
    sort: [{ field: 'reviewId', direction: 'descending' }],
    limit: 1,
  }),
  [toCommunityId(1)],
);

export function createListVersions({ readModels, personalData }: QueryDeps) {
  const lastChange = async ({ kind, id }: Account) => {
    const key = String(id);
    const found =
      kind === 'Brand'
        ? await readModels.collection(brandChanges).get(key)
        : await readModels.collection(communityChanges).get(key);
    return found?.document.bookings;
  };

  return {
    /**
     * The version of the bookings that an account may see; undefined if unknown. It comes from another read model than the list. If that
     * is ahead of the list, `isShown` waits; if it is behind, the list merely gets a newer version soon.
     */
    async ofBookings(account: Account): Promise<ListVersion | undefined> {
      try {
        const collection = readModels.nameOf(bookings);
        const change = await lastChange(account);
        if (change === undefined) return { id: `${collection}.empty`, isShown: async () => true };
        const { eventId, position } = change;
        return {
          id: `${collection}.${eventId}`,
          isShown: () => readModels.waitFor(position, { projections: [bookings], timeoutMs: SHOWN_WITHIN_MS }),
        };
      } catch (error) {
        // The list itself may still be readable.
        if (isUnavailable(error)) return undefined;
        throw error;
      }
    },

    /**
     * The version of a community's reviews. Reviews are only added, so their number and highest id identify the list. The number of
     * forgotten subjects identifies their texts.
     */
    async ofReviews(communityId: number): Promise<ListVersion> {
      const documents = readModels.collection(reviews);
      const lastQuery = lastOfCommunity(toCommunityId(communityId));
      const collection = readModels.nameOf(reviews);
      const [count, forgotten] = await Promise.all([documents.count(lastQuery), personalData.forgottenVersion()]);
      let last = 0;
      for await (const { document } of documents.find(lastQuery)) last = document.reviewId;
      return { id: `${collection}.${count}.${last}.${forgotten}`, isShown: async () => true };
    },
  };
}
