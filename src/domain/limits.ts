import { type Refusal, refuse } from './decision.ts';

/**
 * The lengths, ranges and amounts that the rules allow. Deciders enforce them, and schemas, forms and the command line read
 * them from here, so that nothing is offered in one place and refused in another (docs/decisions/limits.md).
 */

/** How many characters (code points) a text may have. If `min` is 1, white space alone is not enough. */
export type TextLimit = { readonly min: 0 | 1; readonly max: number };

/** Both ends inclusive; every value is a multiple of `step`. */
export type NumberLimit = { readonly min: number; readonly max: number; readonly step: number };

/** The name of a community, a brand or a space. */
export const NAME: TextLimit = { min: 1, max: 200 };
/** The label of an API key, or the name of an account's own OAuth client. */
export const LABEL: TextLimit = { min: 1, max: 100 };
/** The note that comes with a booking request (docs/specification.md#limits). */
export const MESSAGE: TextLimit = { min: 0, max: 500 };
/** Why a booking was cancelled, or a webhook disabled. */
export const REASON: TextLimit = { min: 0, max: 500 };
/** Limited because the log keeps it for good. */
export const IDEMPOTENCY_KEY: TextLimit = { min: 1, max: 255 };
export const REVIEW_TITLE: TextLimit = { min: 1, max: 200 };
export const REVIEW_CONTENT: TextLimit = { min: 1, max: 5_000 };

/** An hour of the day on the 24-hour clock. */
export const HOUR: NumberLimit = { min: 0, max: 23, step: 1 };
/** The length of an event, in hours. */
export const DURATION_HOURS: NumberLimit = { min: 0.25, max: 23, step: 0.25 };
/** How long a request may wait for an answer, in hours: from an hour to 90 days. */
export const ANSWER_HOURS: NumberLimit = { min: 1, max: 90 * 24, step: 1 };
/** The flat fee of an event, in cents. */
export const EVENT_FEE: NumberLimit = { min: 0, max: 100_000_000_00, step: 1 };
/** Stars of a review. */
export const RATING: NumberLimit = { min: 1, max: 5, step: 1 };

/** Whether a text has more than `max` code points, so that an emoji counts once rather than twice. */
const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max);

/** Refuses a text of the wrong length (`ValidationError`), naming its field. An absent text counts as empty. */
export function wrongText(field: string, text: string | undefined, { min, max }: TextLimit): Refusal | undefined {
  const isTooShort = min > 0 && (text ?? '').trim() === '';
  if (!isTooShort && !isLongerThan(text ?? '', max)) return undefined;
  return refuse('ValidationError', `${field} must have ${min === 0 ? 'at most' : `${min} to`} ${max} characters.`);
}

export const isWithin = (value: number, { min, max, step }: NumberLimit): boolean =>
  value >= min && value <= max && Number.isSafeInteger(value / step);

/** Refuses a number outside its range (`ValidationError`), naming its field. */
export function wrongNumber(field: string, value: number, limit: NumberLimit): Refusal | undefined {
  if (isWithin(value, limit)) return undefined;
  const { min, max, step } = limit;
  const what = step === 1 ? `a whole number, ${min} to ${max}` : `${min} to ${max}, in steps of ${step}`;
  return refuse('ValidationError', `${field} must be ${what}.`);
}
