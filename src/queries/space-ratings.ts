import type { ReadableReview } from '../../projections/reviews.ts';
import { reviews } from '../../projections/reviews.ts';
import { type Rating, type SpaceRatingDocument, spaceRatings } from '../../projections/space-ratings.ts';
import type { Account } from '../domain/account.ts';
import type { SpaceId } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import type { QueryDeps } from './query-deps.ts';
import { mayReadReviews, readableCommunities } from './reviews.ts';

/** The rating that a document adds up to. */
export const ratingOf = ({ count, sum }: SpaceRatingDocument): Rating => ({ count, average: sum / count });

/** Ratings of spaces, for accounts that may read the reviews (docs/decisions/bookings.md). */
export function createSpaceRatingQueries({ readModels, personalData }: QueryDeps) {
  /** The ratings of these spaces, where the account may read the reviews. */
  async function list(account: Account, spaces: readonly Space[]): Promise<ReadonlyMap<SpaceId, Rating>> {
    const communities = spaces.map(({ communityId }) => communityId);
    const readable = await readableCommunities({ readModels }, account, communities);
    const rated = spaces.filter(({ communityId }) => readable.has(communityId));
    const found = await readModels.collection(spaceRatings).getMany(rated.map(({ spaceId }) => String(spaceId)));
    return new Map(found.values().map((each) => [each.spaceId, ratingOf(each)]));
  }

  /** The rating and the latest reviews of a space. Undefined if it has none that the account may read. */
  async function ofSpace(
    account: Account,
    { spaceId, communityId }: Space,
  ): Promise<{ readonly rating: Rating; readonly latest: readonly ReadableReview[] } | undefined> {
    if (!(await mayReadReviews({ readModels }, account, communityId))) return undefined;
    const rated = await readModels.collection(spaceRatings).get(String(spaceId));
    if (rated === undefined) return undefined;
    const latest = await Promise.all(rated.latest.map((id) => readModels.collection(reviews).get(String(id))));
    return { rating: ratingOf(rated), latest: await personalData.openReviews(latest.flatMap((one) => one ?? [])) };
  }

  return { list, ofSpace };
}
