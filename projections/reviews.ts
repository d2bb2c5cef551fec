import type { ReviewEvent, ReviewPosted } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import type { Opened, PersonalText } from '../src/domain/personal-text.ts';
import { projection } from './projection.ts';

export type ReviewDocument = ReviewPosted['data'] & {
  readonly createdAt: Timestamp;
  /** What the community answered. */
  readonly answer?: PersonalText;
  readonly answeredAt?: Timestamp;
  /** Marks the reviews that were answered, for the index that holds only them. */
  readonly wasAnswered?: 'yes';
};

/** A review as it is read. */
export type ReadableReview = Opened<ReviewDocument>;

/** Every review. */
export const reviews = projection<ReviewDocument, ReviewEvent>({
  name: 'reviews',
  version: 4,
  indexes: [
    { fields: ['communityId', 'reviewId'], holds: ['spaceId', 'rating'] },
    { fields: ['brandId', 'reviewId'] },
    { fields: ['bookingId'] },
    // How many reviews of a community were answered: a version of its list.
    { fields: ['communityId', 'wasAnswered'], where: { wasAnswered: 'yes' } },
  ],
  key: (event) => String(event.data.reviewId),
  createdBy: ['ReviewPosted'],
  on: {
    ReviewPosted: (_, { data, metadata }) => ({ ...data, createdAt: metadata.at }),
    ReviewAnswered: (review, { data, metadata }) =>
      review && { ...review, answer: data.answer, answeredAt: metadata.at, wasAnswered: 'yes' },
  },
});
