import { bookings } from '../../projections/bookings.ts';
import { communities } from '../../projections/communities.ts';
import { type ReviewDocument, reviews } from '../../projections/reviews.ts';
import type { Account } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { communityId as toCommunityId } from '../domain/ids.ts';
import type { ReadModels } from '../read-models/read-models.ts';

export function createReviewQueries({ readModels }: { readonly readModels: ReadModels }) {
  async function mayRead(account: Account, communityId: number): Promise<boolean> {
    if (account.kind === 'Community') return account.id === communityId;
    const where = { brandId: account.id, communityId: toCommunityId(communityId), status: 'Completed' as const };
    for await (const _ of readModels.collection(bookings).find({ where, limit: 1 })) return true;
    return false;
  }

  return {
    /**
     * The reviews of a community, oldest first. A community reads its own, a brand those of communities with which it has
     * completed a booking; others do not exist for the caller (docs/decisions/reviews.md).
     */
    async list(account: Account, communityId: number): Promise<AsyncIterable<ReviewDocument> | Refusal> {
      const exists = (await readModels.collection(communities).get(String(communityId))) !== undefined;
      if (!exists || !(await mayRead(account, communityId)))
        return refuse('ResourceNotFound', `There are no reviews of community ${communityId} for this caller.`);
      const where = { communityId: toCommunityId(communityId) };
      const found = readModels.collection(reviews).find({ where, sort: [{ field: 'reviewId' }] });
      return documentsOf(found);
    },

    /** The reviews of a community's spaces, or those a brand wrote; newest first. */
    async listOfAccount(account: Account): Promise<ReviewDocument[]> {
      const where = account.kind === 'Community' ? { communityId: account.id } : { brandId: account.id };
      const sort = [{ field: 'reviewId', direction: 'descending' }] as const;
      return Array.fromAsync(readModels.collection(reviews).find({ where, sort }), ({ document }) => document);
    },

    /** The review of a booking. Whether the caller may see the booking is checked before. */
    async ofBooking(booking: Pick<ReviewDocument, 'bookingId'>): Promise<ReviewDocument | undefined> {
      const where = { bookingId: booking.bookingId };
      for await (const { document } of readModels.collection(reviews).find({ where, limit: 1 })) return document;
      return undefined;
    },
  };
}

async function* documentsOf<D>(found: AsyncIterable<{ readonly document: D }>): AsyncGenerator<D> {
  for await (const { document } of found) yield document;
}
