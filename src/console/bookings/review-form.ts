import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableReview } from '../../../projections/reviews.ts';
import type { Account } from '../../domain/account.ts';
import { REVIEW_ANSWER, REVIEW_CONTENT, REVIEW_TITLE } from '../../domain/limits.ts';
import type { Html } from '../../html/html.ts';
import { viaField } from '../parts/back-link.ts';
import { choices, controlsOf, field, postForm, textArea } from '../parts/forms.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';

/** Whether to offer the review form. The decider checks again. */
export const canReview = (account: Account, booking: BookingDocument, review: ReadableReview | undefined): boolean =>
  account.kind === 'Brand' && booking.status === 'Completed' && review === undefined;

/** Whether to offer the form that answers a review. The decider checks again. */
export const canAnswer = (account: Account, review: ReadableReview | undefined): boolean =>
  account.kind === 'Community' && review !== undefined && review.answer === undefined;

const RATING_LABELS = ['Poor', 'Fair', 'Good', 'Very good', 'Excellent'];

export function reviewForm(visit: Visit, { bookingId }: BookingDocument, problems: Problems): Html {
  const control = controlsOf(visit.form, problems);
  const rated = visit.form.text('rating');
  const ratings = RATING_LABELS.map((label, index) => ({
    value: String(index + 1),
    label: `${index + 1} – ${label}`,
    checked: rated === String(index + 1),
  })).reverse();
  return postForm(visit, `/console/bookings/${bookingId}/review`, 'fields')`${viaField(visit)}
${choices({ name: 'rating', label: 'Rating', problems }, 'radio', ratings)}
${field({ ...control('title', 'Headline'), required: true, attributes: { maxlength: REVIEW_TITLE.max } })}
${textArea({
  ...control('content', 'Review'),
  hint: 'Visible to the community and to other brands.',
  required: true,
  attributes: { maxlength: REVIEW_CONTENT.max, rows: 5 },
})}
<div><button class="button">Publish review</button></div>`;
}

export const answerForm = (visit: Visit, { bookingId }: BookingDocument, problems: Problems): Html =>
  postForm(visit, `/console/bookings/${bookingId}/answer`, 'fields')`${viaField(visit)}
${textArea({
  ...controlsOf(visit.form, problems)('answer', 'Your answer'),
  hint: 'Shown with the review to everyone who reads it. You answer once: it cannot be changed.',
  required: true,
  attributes: { maxlength: REVIEW_ANSWER.max, rows: 3 },
})}
<div><button class="button">Publish answer</button></div>`;
