import { type Static, Type } from 'typebox';
import type { BookingId, CommunityId, ReviewId, SpaceId } from '../../domain/ids.ts';
import { RATING, REVIEW_ANSWER, REVIEW_CONTENT, REVIEW_TITLE } from '../../domain/limits.ts';
import { Id, Timestamp } from './scalars.ts';

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
    answer: Type.Optional(
      Type.String({ maxLength: REVIEW_ANSWER.max, description: 'What the community answered. Absent: nothing yet.' }),
    ),
  },
  { title: 'ReviewDto', description: 'A review of a community.' },
);
export type ReviewDto = Static<typeof ReviewDto>;

// A review has no answer when it is posted.
const { id, answer: _, ...shown } = ReviewDto.properties;
/** The data of a webhook delivery about a review. */
export const ReviewPostedData = Type.Object(
  { id, reviewId: id, bookingId: Id<BookingId>('The booking reviewed.'), ...shown },
  { title: 'ReviewPostedData', description: 'The review that was posted.' },
);

export const CommunityParams = Type.Object({ communityId: Id<CommunityId>('Community identifier.') });
