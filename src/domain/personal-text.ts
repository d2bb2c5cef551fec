import { type Account, accountOfKey } from './account.ts';
import type { BookingId, BrandId, ClosureId, CommunityId, SpaceId } from './ids.ts';

/** The owner of a personal text. Forgetting the subject destroys the key that its texts are sealed under (docs/decisions/personal-data.md). */
export type Subject = `brand:${number}` | `community:${number}` | `user:${string}`;

/** `brand 7`. */
export const subjectInWords = (subject: Subject): string => subject.replace(':', ' ');

/** The id of the user, if the subject is one. */
export const userIdOf = (subject: Subject): string | undefined => /^user:(.+)$/.exec(subject)?.[1];

/** The account, if the subject is one. */
export const accountOfSubject = (subject: Subject): Account | undefined =>
  accountOfKey(subject.replace(/^\w/, (first) => first.toUpperCase()));

/** A text that only the key of its subject opens. Domain and projections pass it on unopened. */
export type SealedText = { readonly subject: Subject; readonly sealed: string };

/** A text in events and documents: sealed, or plain if the service wrote it. */
export type PersonalText = string | SealedText;

/** The replacement of a text whose subject has been forgotten. */
export const ERASED = 'erased';

export const subjectOf = ({ kind, id }: Account): Subject => (kind === 'Brand' ? `brand:${id}` : `community:${id}`);

export const subjectOfUser = (userId: string): Subject => `user:${userId}`;

/** Whether a text is sealed. Checks the type, so that a plain text cannot pass for a sealed one. */
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

/** An event with its sealed texts replaced by these. */
export function withTexts<E extends { readonly data: object }>(event: E, texts: Texts): Readable<E>;
export function withTexts(event: { readonly data: object }, texts: Texts): object {
  return { ...event, data: { ...event.data, ...texts } };
}

/** An event as it reads once the subjects of its sealed texts have been forgotten. */
export const erased = <E extends { readonly data: object }>(event: E): Readable<E> =>
  withTexts(event, Object.fromEntries(Object.keys(sealedTextsIn(event.data)).map((field) => [field, ERASED])));

/**
 * The owner of a text, authenticated with the text and its field, so that a sealed text cannot be moved to another booking or field. So
 * these names can never change.
 */
export const ownerOf = {
  booking: ({ bookingId }: { readonly bookingId: BookingId }) => `booking:${bookingId}`,
  review: ({ bookingId }: { readonly bookingId: BookingId }) => `review:${bookingId}`,
  /** Each day that it closes holds the same sealed title. */
  closure: ({ closureId }: { readonly closureId: ClosureId }) => `closure:${closureId}`,
  space: ({ spaceId }: { readonly spaceId: SpaceId }) => `space:${spaceId}`,
  community: ({ communityId }: { readonly communityId: CommunityId }) => `community:${communityId}`,
  customer: ({ communityId, brandId }: { readonly communityId: CommunityId; readonly brandId: BrandId }) =>
    `customer:${communityId}:${brandId}`,
  brand: ({ brandId }: { readonly brandId: BrandId }) => `brand:${brandId}`,
  thread: ({ bookingId }: { readonly bookingId: BookingId }) => `thread:${bookingId}`,
  question: ({ spaceId, brandId }: { readonly spaceId: SpaceId; readonly brandId: BrandId }) =>
    `question:${spaceId}:${brandId}`,
};
