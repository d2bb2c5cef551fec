import type { ReviewPosted } from '../src/domain/events.ts';
import type { CommunityId, ReviewId, SpaceId } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

/** The reviews of a space in figures, and the latest of them. */
export type SpaceRatingDocument = {
  readonly spaceId: SpaceId;
  readonly communityId: CommunityId;
  readonly count: number;
  /** Of all ratings. */
  readonly sum: number;
  /** Latest first. */
  readonly latest: readonly ReviewId[];
};

/** How a space is rated on average, and by how many reviews. */
export type Rating = Pick<SpaceRatingDocument, 'count'> & { readonly average: number };

/** Reviews that the page of a space shows. */
const MAX_LATEST = 3;

/** Every space that has been reviewed. */
export const spaceRatings = projection<SpaceRatingDocument, ReviewPosted>({
  name: 'spaceRatings',
  version: 1,
  indexes: [],
  key: (event) => String(event.data.spaceId),
  on: {
    ReviewPosted: (before, { data: { spaceId, communityId, reviewId, rating } }) => ({
      spaceId,
      communityId,
      count: (before?.count ?? 0) + 1,
      sum: (before?.sum ?? 0) + rating,
      latest: [reviewId, ...(before?.latest ?? [])].slice(0, MAX_LATEST),
    }),
  },
});
