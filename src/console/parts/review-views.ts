import type { ReadableReview } from '../../../projections/reviews.ts';
import type { Rating } from '../../../projections/space-ratings.ts';
import { RATING } from '../../domain/limits.ts';
import { counted, dayIn } from '../../html/formats.ts';
import { type Html, html, named, written } from '../../html/html.ts';

/** A rating, or an average to halves, as stars with a text alternative. */
export const stars = (rating: number): Html => {
  const halves = Math.round(2 * rating);
  const drawn = '★'.repeat(Math.floor(halves / 2)) + (halves % 2 === 1 ? '½' : '');
  const label = `${Number(rating.toFixed(1))} out of ${RATING.max} stars`;
  const off = html`<span class="off">${'☆'.repeat(Math.floor(RATING.max - halves / 2))}</span>`;
  return html`<span class="stars" role="img" aria-label="${label}">${drawn}${off}</span>`;
};

/** `★ 4.6 (23 reviews)` */
export const ratingText = ({ average, count }: Rating): Html =>
  html`<span class="rating"><span class="stars" aria-hidden="true">★</span>
<span class="visually-hidden">Rated </span>${average.toFixed(1)} <span class="muted">(${counted(count, 'review')})</span></span>`;

/** @param zone of the space */
export const reviewText = (
  review: ReadableReview,
  zone: string,
): Html => html`<p>${stars(review.rating)} <strong>${named(review.title)}</strong></p>
${written(review.content)}
<p class="muted small">${named(review.brandName)},
<time datetime="${review.createdAt}">${dayIn(zone, review.createdAt)}</time>${
  review.isVerifiedBooking && ', verified booking'
}</p>${answerView(review.answer)}`;

/** What the community answered. */
export const answerView = (answer: string | undefined): Html | undefined =>
  answer === undefined
    ? undefined
    : html`<div class="answer"><p class="muted small">Answer of the community</p>${written(answer)}</div>`;
