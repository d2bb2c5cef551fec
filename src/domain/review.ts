import { type Decision, refuse, refuseFor } from './decision.ts';
import type { ReviewPosted } from './events.ts';
import type { BookingId, BrandId, ReviewId } from './ids.ts';
import { RATING, REVIEW_CONTENT, REVIEW_TITLE, wrongNumber, wrongText } from './limits.ts';
import type { BookingState } from './space-day.ts';

export type Review = ReviewPosted['data'];

export const evolveReview = (_: Review | undefined, event: ReviewPosted): Review => event.data;

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
