import { type Static, Type } from 'typebox';
import type { ReviewDocument } from '../../projections/reviews.ts';
import type { ReviewPosted } from '../domain/events.ts';
import type { BookingId, CommunityId, Timestamp as Moment, ReviewId, SpaceId } from '../domain/ids.ts';
import { RATING } from '../domain/limits.ts';
import { Id, Timestamp } from './scalars.ts';
import { shaped } from './shaped.ts';

/** A review (docs/specification.md#resources). */
export const ReviewDto = Type.Object(
  {
    id: Id<ReviewId>('Review identifier.'),
    propertyId: Id<CommunityId>('The community (property) the review belongs to.'),
    spaceId: Id<SpaceId>('The space reviewed.'),
    rating: Type.Integer({ minimum: RATING.min, maximum: RATING.max, description: 'Star rating.' }),
    title: Type.String({ description: 'Headline.' }),
    content: Type.String({ description: 'Full review text.' }),
    isVerifiedBooking: Type.Boolean({ description: 'Whether the reviewer completed a booking.' }),
    createdAt: Timestamp('Submission, UTC.'),
  },
  { title: 'ReviewDto' },
);

const { id, ...shown } = ReviewDto.properties;
/** The data of a webhook delivery about a review. */
export const ReviewPostedData = Type.Object({
  id,
  reviewId: id,
  bookingId: Id<BookingId>('The booking reviewed.'),
  ...shown,
});

/** The only public mapping of a review. */
export const publicReview = (review: ReviewPosted['data'], createdAt: Moment) => ({
  ...review,
  id: review.reviewId,
  propertyId: review.communityId,
  createdAt,
});

const dto = shaped(ReviewDto);
export const toReviewDto = (review: ReviewDocument): Static<typeof ReviewDto> =>
  dto(publicReview(review, review.createdAt));

export const CommunityParams = Type.Object({ communityId: Id<CommunityId>('Community identifier.') });
