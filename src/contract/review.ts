import type { ReadableReview } from '../../projections/reviews.ts';
import type { ReviewPosted } from '../domain/events.ts';
import type { Opened } from '../domain/personal-text.ts';
import type { ReviewDto } from './schemas/review.ts';

export const toReviewDto = (review: ReadableReview): ReviewDto => {
  const {
    reviewId: id,
    communityId: propertyId,
    spaceId,
    rating,
    title,
    content,
    isVerifiedBooking,
    createdAt,
  } = review;
  return { id, propertyId, spaceId, rating, title, content, isVerifiedBooking, createdAt };
};

/** A review as the command line prints it with `--json` once it is posted. */
export const toOperatorReview = (review: Opened<ReviewPosted['data']>) => {
  const { reviewId: id, bookingId, communityId: propertyId, spaceId, rating, title, content } = review;
  return { id, bookingId, propertyId, spaceId, rating, title, content };
};
