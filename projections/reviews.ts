import type { ReviewPosted } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import type { Opened } from '../src/domain/personal-text.ts';
import { projection } from './projection.ts';

export type ReviewDocument = ReviewPosted['data'] & { readonly createdAt: Timestamp };

/** A review as it is read. */
export type ReadableReview = Opened<ReviewDocument>;

/** Every review. */
export const reviews = projection<ReviewDocument, ReviewPosted>({
  name: 'reviews',
  version: 3,
  indexes: [
    { fields: ['communityId', 'reviewId'], holds: ['spaceId', 'rating'] },
    { fields: ['brandId', 'reviewId'] },
    { fields: ['bookingId'] },
  ],
  key: (event) => String(event.data.reviewId),
  createdBy: ['ReviewPosted'],
  on: { ReviewPosted: (_, { data, metadata }) => ({ ...data, createdAt: metadata.at }) },
});
