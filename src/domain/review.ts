import { type Decision, refuse, refuseFor } from './decision.ts';
import type { ReviewAnswered, ReviewEvent, ReviewPosted } from './events.ts';
import type { BookingId, BrandId, CommunityId, ReviewId } from './ids.ts';
import { RATING, REVIEW_ANSWER, REVIEW_CONTENT, REVIEW_TITLE, wrongNumber, wrongText } from './limits.ts';
import type { BookingState } from './space-day.ts';

export type Review = ReviewPosted['data'] & { readonly isAnswered?: true };

export const evolveReview = (review: Review | undefined, event: ReviewEvent): Review | undefined =>
  event.type === 'ReviewPosted' ? event.data : review && { ...review, isAnswered: true };

export type PostReview = {
  readonly reviewId: ReviewId;
  readonly bookingId: BookingId;
  /** Absent when an operator posts it for the brand. */
  readonly brandId?: BrandId;
  readonly rating: number;
  readonly title: string;
  readonly content: string;
};

/** Decides a review: by the brand that booked, once, of a completed `booking` (docs/decisions/bookings.md). */
export function postReview(
  existing: Review | undefined,
  command: PostReview,
  booking: BookingState | undefined,
): Decision<ReviewPosted> {
  const { brandId, ...review } = command;
  if (booking === undefined || (brandId !== undefined && booking.request.brandId !== brandId))
    return refuse('ResourceNotFound', `There is no booking ${command.bookingId}.`);
  const wrong = refuseFor([
    wrongNumber('rating', review.rating, RATING),
    wrongText('title', review.title, REVIEW_TITLE),
    wrongText('content', review.content, REVIEW_CONTENT),
  ]);
  if (wrong !== undefined) return wrong;
  if (existing !== undefined)
    return refuse('BookingNotAllowed', `Booking ${command.bookingId} has already been reviewed.`);
  if (booking.status !== 'Completed')
    return refuse(
      'BookingNotAllowed',
      `Booking ${command.bookingId} is ${booking.status}; only completed bookings can be reviewed.`,
    );
  const { communityId, spaceId, spaceName, brandName } = booking.request;
  return [
    {
      type: 'ReviewPosted',
      data: {
        ...review,
        communityId,
        spaceId,
        spaceName,
        brandId: booking.request.brandId,
        brandName,
        isVerifiedBooking: true,
      },
    },
  ];
}

export type AnswerReview = {
  readonly bookingId: BookingId;
  readonly communityId: CommunityId;
  readonly answer: string;
};

/** Decides the answer of a community to a review of its space: once, because others have read it. */
export function answerReview(
  review: Review | undefined,
  { bookingId, communityId, answer }: AnswerReview,
): Decision<ReviewAnswered> {
  if (review?.communityId !== communityId)
    return refuse('ResourceNotFound', `There is no review of booking ${bookingId}.`);
  const wrong = wrongText('answer', answer, REVIEW_ANSWER);
  if (wrong !== undefined) return wrong;
  if (review.isAnswered)
    return refuse('BookingNotAllowed', `The review of booking ${bookingId} has already been answered.`);
  const { reviewId, spaceId, brandId } = review;
  return [{ type: 'ReviewAnswered', data: { reviewId, bookingId, communityId, spaceId, brandId, answer } }];
}
