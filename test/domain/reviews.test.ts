import { expect, test } from 'vitest';
import type { ReviewEvent, ReviewPosted } from '../../src/domain/events.ts';
import { bookingId, brandId, communityId, reviewId } from '../../src/domain/ids.ts';
import { answerReview, evolveReview, type PostReview, postReview, type Review } from '../../src/domain/review.ts';
import { EMPTY_SPACE_DAY, evolveSpaceDay, findBooking } from '../../src/domain/space-day.ts';
import { acme, approved, cancelledByBrand, completed, requested } from './bookings.fixture.ts';
import { decider } from './given.ts';

const given = decider<Review | undefined, ReviewEvent>(undefined as Review | undefined, evolveReview);
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

const answered =
  (text: string, of = posted.data.communityId) =>
  (review: Review | undefined) =>
    answerReview(review, { bookingId: bookingId(1), communityId: of, answer: text });
const answer: ReviewEvent = {
  type: 'ReviewAnswered',
  data: {
    ...{ reviewId: id, bookingId: booking, communityId: posted.data.communityId, spaceId: posted.data.spaceId },
    ...{ brandId: acme.brandId, answer: 'Thank you.' },
  },
};

test('the community answers a review once, in at most 2,000 characters', () => {
  expect(given(posted).when(answered('Thank you.')).decision).toEqual([answer]);
  given(posted, answer)
    .when(answered('Thank you again.'))
    .thenRefused('BookingNotAllowed', /already been answered/);
  given(posted)
    .when(answered('x'.repeat(2_001)))
    .thenRefused('ValidationError');
  given(posted).when(answered(' ')).thenRefused('ValidationError');
});

test('others do not know the review, nor does anyone before it is posted', () => {
  given(posted)
    .when(answered('Thanks', communityId(99)))
    .thenRefused('ResourceNotFound');
  given().when(answered('Thanks')).thenRefused('ResourceNotFound');
});
