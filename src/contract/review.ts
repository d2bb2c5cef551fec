import type { ReadableReview } from '../../projections/reviews.ts';
import type { ReviewPosted } from '../domain/events.ts';
import type { Opened } from '../domain/personal-text.ts';
import { picked } from '../domain/picked.ts';
import type { ReviewDto } from './schemas/review.ts';

export const toReviewDto = (review: ReadableReview): ReviewDto => ({
  id: review.reviewId,
  propertyId: review.communityId,
  ...picked(review, ['spaceId', 'rating', 'title', 'content', 'isVerifiedBooking', 'createdAt', 'answer']),
});

/** A review as the command line prints it with `--json` once it is posted. */
export const toOperatorReview = (review: Opened<ReviewPosted['data']>) => ({
  id: review.reviewId,
  bookingId: review.bookingId,
  propertyId: review.communityId,
  ...picked(review, ['spaceId', 'rating', 'title', 'content']),
});
