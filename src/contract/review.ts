import type { ReadableReview } from '../../projections/reviews.ts';
import type { ReviewPosted } from '../domain/events.ts';
import type { BookingId, CommunityId, ReviewId, SpaceId } from '../domain/ids.ts';
import { RATING, REVIEW_CONTENT, REVIEW_TITLE } from '../domain/limits.ts';
import type { Opened } from '../domain/personal-text.ts';
import { Id, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** A review (docs/guides/rest-api.md#resources). */
export const ReviewDto = Type.Object(
  {
    id: Id<ReviewId>('Review identifier.'),
    propertyId: Id<CommunityId>('The community (property) the review belongs to.'),
    spaceId: Id<SpaceId>('The space reviewed.'),
    rating: Type.Integer({ minimum: RATING.min, maximum: RATING.max, description: 'Star rating.' }),
    title: Type.String({ maxLength: REVIEW_TITLE.max, description: 'Headline.' }),
    content: Type.String({ maxLength: REVIEW_CONTENT.max, description: 'Full review text.' }),
    isVerifiedBooking: Type.Boolean({ description: 'Whether the reviewer completed a booking.' }),
    createdAt: Timestamp('Submission, UTC.'),
  },
  { title: 'ReviewDto', description: 'A review of a community.' },
);

const { id, ...shown } = ReviewDto.properties;
const bookingId = Id<BookingId>('The booking reviewed.');

/** The data of a webhook delivery about a review. */
export const ReviewPostedData = Type.Object(
  {
    id,
    reviewId: id,
    bookingId,
    ...shown,
  },
  { title: 'ReviewPostedData', description: 'The review that was posted.' },
);

const { propertyId, spaceId, rating, title, content } = shown;
/** A review as an operator sees it who posts it: the command line's JSON. */
export const OperatorReview = Type.Object({ id, bookingId, propertyId, spaceId, rating, title, content });

/** The only public mapping of a review's facts; a shape picks what it lists. */
export const publicReview = <R extends ReviewPosted['data']>(review: R) => ({
  ...review,
  id: review.reviewId,
  propertyId: review.communityId,
});

const dto = shaped(ReviewDto);
const operatorReview = shaped(OperatorReview);

export const toReviewDto = (review: ReadableReview): Static<typeof ReviewDto> =>
  dto({ ...publicReview(review), createdAt: review.createdAt });

export const toOperatorReview = (review: Opened<ReviewPosted['data']>): Static<typeof OperatorReview> =>
  operatorReview(publicReview(review));

export const CommunityParams = Type.Object({ communityId: Id<CommunityId>('Community identifier.') });
