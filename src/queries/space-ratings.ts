import type { ReadableReview } from '../../projections/reviews.ts';
import { reviews } from '../../projections/reviews.ts';
import { type Rating, type SpaceRatingDocument, spaceRatings } from '../../projections/space-ratings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { type CommunityId, type SpaceId, communityId as toCommunityId } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import { documentsOf } from './documents.ts';
import type { QueryDeps } from './query-deps.ts';
import { mayReadReviews } from './reviews.ts';

const ofCommunity = declareQuery(
  spaceRatings,
  (communityId: CommunityId): Find<SpaceRatingDocument> => ({ where: { communityId }, sort: [{ field: 'spaceId' }] }),
  [toCommunityId(1)],
);

const ratingOf = ({ count, sum }: SpaceRatingDocument): Rating => ({ count, average: sum / count });

/** Ratings of spaces, for accounts that may read the reviews (docs/decisions/bookings.md). */
export function createSpaceRatingQueries({ readModels, personalData }: QueryDeps) {
  /** The ratings of these spaces (and of others of their communities), where the account may read the reviews. */
  async function list(account: Account, spaces: readonly Space[]): Promise<ReadonlyMap<SpaceId, Rating>> {
    const communities = [...new Set(spaces.map(({ communityId }) => communityId))];
    const found = await Promise.all(
      communities.map(async (communityId) =>
        (await mayReadReviews({ readModels }, account, communityId))
          ? documentsOf(readModels.collection(spaceRatings).find(ofCommunity(communityId)))
          : [],
      ),
    );
    return new Map(found.flat().map((one) => [one.spaceId, ratingOf(one)]));
  }

  /** The rating and the latest reviews of a space. Undefined if it has none that the account may read. */
  async function ofSpace(
    account: Account,
    { spaceId, communityId }: Space,
  ): Promise<{ readonly rating: Rating; readonly latest: readonly ReadableReview[] } | undefined> {
    if (!(await mayReadReviews({ readModels }, account, communityId))) return undefined;
    const rated = (await readModels.collection(spaceRatings).get(String(spaceId)))?.document;
    if (rated === undefined) return undefined;
    const latest = await Promise.all(rated.latest.map((id) => readModels.collection(reviews).get(String(id))));
    const documents = latest.flatMap((one) => one?.document ?? []);
    return { rating: ratingOf(rated), latest: await personalData.openReviews(documents) };
  }

  return { list, ofSpace };
}
