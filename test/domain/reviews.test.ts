import { expect, test } from 'vitest';
import type { ReviewPosted } from '../../src/domain/events.ts';
import { bookingId, brandId, reviewId } from '../../src/domain/ids.ts';
import { evolveReview, type PostReview, postReview, type Review } from '../../src/domain/review.ts';
import { EMPTY_SPACE_DAY, evolveSpaceDay, findBooking } from '../../src/domain/space-day.ts';
import { acme, approved, cancelledByBrand, completed, requested } from './bookings.fixture.ts';
import { decider } from './given.ts';

const given = decider<Review | undefined, ReviewPosted>(undefined as Review | undefined, evolveReview);
const COMPLETED = [requested(), approved(), completed()];
const command = {
  reviewId: reviewId(5),
  bookingId: bookingId(1),
  brandId: acme.brandId,
  rating: 4,
  title: 'Good',
  content: 'Yes.',
};
const post =
  (fields: Partial<PostReview> = {}, events = COMPLETED) =>
  (existing: Review | undefined) =>
    postReview(
      existing,
      { ...command, ...fields },
      findBooking(events.reduce(evolveSpaceDay, EMPTY_SPACE_DAY), bookingId(1)),
    );

const { reviewId: id, bookingId: booking, rating, title, content } = command;
const posted: ReviewPosted = {
  type: 'ReviewPosted',
  data: {
    ...{ reviewId: id, bookingId: booking, rating, title, content, isVerifiedBooking: true },
    ...{ communityId: requested().data.communityId, spaceId: requested().data.spaceId, spaceName: 'Great Hall' },
    ...{ brandId: acme.brandId, brandName: 'Acme' },
  },
};

test('the brand of a completed booking reviews it once; an operator may for it', () => {
  expect(given().when(post()).decision).toEqual([posted]);
  const { brandId: _, ...ofOperator } = command;
  const state = findBooking(COMPLETED.reduce(evolveSpaceDay, EMPTY_SPACE_DAY), bookingId(1));
  expect(postReview(undefined, ofOperator, state)).toEqual([posted]);
  given(posted)
    .when(post())
    .thenRefused('BookingNotAllowed', /already been reviewed/);
});

test('others do not know the booking, with any command', () => {
  given()
    .when(post({ brandId: brandId(4), rating: 9 }))
    .thenRefused('ResourceNotFound');
  given(posted)
    .when(post({ brandId: brandId(4) }))
    .thenRefused('ResourceNotFound');
  given().when(post({}, [])).thenRefused('ResourceNotFound');
});

test.each([
  ['Pending', [requested()]],
  ['Approved', [requested(), approved()]],
  ['Cancelled', [requested(), cancelledByBrand()]],
] as const)('a booking that is %s cannot be reviewed', (status, events) => {
  given()
    .when(post({}, [...events]))
    .thenRefused('BookingNotAllowed', new RegExp(`is ${status}; only completed`));
});

test('rating and texts keep their limits, and all that is wrong is said', () => {
  for (const wrong of [{ rating: 0 }, { rating: 6 }, { rating: 4.5 }, { title: '' }, { content: ' ' }])
    given().when(post(wrong)).thenRefused('ValidationError');
  for (const right of [{ rating: 1 }, { rating: 5 }]) given().when(post(right)).thenEvents({ data: right });
  const { decision } = given().when(post({ rating: 0, title: '', content: '' }));
  expect(decision).toMatchObject({ each: [{ field: 'rating' }, { field: 'title' }, { field: 'content' }] });
});
