import type { Account } from './account.ts';
import type { BookingId } from './ids.ts';

/** The owner of a personal text. Forgetting the subject destroys the key that its texts are sealed under (docs/decisions/personal-data.md). */
export type Subject = `brand:${number}` | `community:${number}` | `user:${string}`;

/** `brand 7`. */
export const subjectInWords = (subject: Subject): string => subject.replace(':', ' ');

/** A text that only the key of its subject opens. Domain and projections pass it on as it is. */
export type SealedText = { readonly subject: Subject; readonly sealed: string };

/** A text as events and documents hold it: sealed, or plain if the service said it itself. */
export type PersonalText = string | SealedText;

/** What a text reads as once its subject has been forgotten. */
export const ERASED = 'erased';

export const subjectOf = ({ kind, id }: Account): Subject => (kind === 'Brand' ? `brand:${id}` : `community:${id}`);

export const subjectOfUser = (userId: string): Subject => `user:${userId}`;

/** Whether a text is sealed. Decided by its type, so that no plain text can pass for a sealed one. */
const isSealed = (text: unknown): text is SealedText => typeof text === 'object' && text !== null && 'sealed' in text;

/** `T` with its personal texts opened. */
export type Opened<T> = { readonly [F in keyof T]: SealedText extends T[F] ? Exclude<T[F], SealedText> : T[F] };

/** An event with its personal texts opened. */
export type Readable<E extends { readonly data: object }> = E extends unknown
  ? Omit<E, 'data'> & { readonly data: Opened<E['data']> }
  : never;

/** Opened texts by the fields that hold them. */
export type Texts = { readonly [field: string]: string };

/** Sealed texts by the fields that hold them. */
export type SealedTexts = { readonly [field: string]: SealedText };

export const sealedTextsIn = (holder: object): SealedTexts =>
  Object.fromEntries(Object.entries(holder).filter((field): field is [string, SealedText] => isSealed(field[1])));

/** An event with these texts in the place of those that are sealed. */
export function withTexts<E extends { readonly data: object }>(event: E, texts: Texts): Readable<E>;
export function withTexts(event: { readonly data: object }, texts: Texts): object {
  return { ...event, data: { ...event.data, ...texts } };
}

/** An event as it reads once the subjects of its sealed texts have been forgotten. */
export const erased = <E extends { readonly data: object }>(event: E): Readable<E> =>
  withTexts(event, Object.fromEntries(Object.keys(sealedTextsIn(event.data)).map((field) => [field, ERASED])));

/**
 * What a text belongs to. It is authenticated with the text, as is the field that holds it, so that a sealed text cannot be shown as
 * that of another booking, nor a title as a content. So neither can ever change.
 */
export const ownerOf = {
  booking: ({ bookingId }: { readonly bookingId: BookingId }) => `booking:${bookingId}`,
  review: ({ bookingId }: { readonly bookingId: BookingId }) => `review:${bookingId}`,
};
