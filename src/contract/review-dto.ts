import type { Static } from 'typebox';
import type { ReviewDocument } from '../../projections/reviews.ts';
import type { ReviewDto } from './schemas.ts';

/** A review as the API shows it (docs/specification.md#resources). */
export const toReviewDto = (review: ReviewDocument): Static<typeof ReviewDto> => ({
  id: review.reviewId,
  propertyId: review.communityId,
  spaceId: review.spaceId,
  rating: review.rating,
  title: review.title,
  content: review.content,
  isVerifiedBooking: review.isVerifiedBooking,
  createdAt: review.createdAt,
});
