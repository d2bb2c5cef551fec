import { createHmac } from 'node:crypto';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { BookingId, BrandId, ClosureId, CommunityId, SpaceId } from '../domain/ids.ts';
import {
  ERASED,
  type Opened,
  ownerOf,
  type PersonalText,
  type Readable,
  type SealedText,
  type SealedTexts,
  type Subject,
  sealedTextsIn,
  subjectInWords,
  type Texts,
  withTexts,
} from '../domain/personal-text.ts';
import { textOwnerOf } from '../domain/text-owner.ts';
import type { Clock } from '../runtime/clock.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { createSubjectKeys, type KeyOrForgotten } from './subject-keys.ts';
import { type Written, writtenIn } from './written.ts';

export type PersonalData = ReturnType<typeof createPersonalData>;

/** A document or event with texts about a booking. */
type OfBooking = { readonly bookingId: BookingId };
/** Sealed texts and their owner ({@link ownerOf}). */
type Holder = { readonly texts: SealedTexts; readonly of: string };

/** Seals personal texts, and opens them for permitted readers (docs/decisions/personal-data.md). */
export function createPersonalData(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'purge'>;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
}) {
  const keys = createSubjectKeys(deps);

  /**
   * Opens texts; those of forgotten subjects read as erased. Reads each key once, and no key without sealed texts.
   * @throws {MissingSubjectKey} if there is neither a key nor its tombstone
   * @throws {Error} if a text was tampered with
   */
  async function openTexts(holders: readonly Holder[]): Promise<Texts[]> {
    const subjects = new Set(holders.flatMap(({ texts }) => Object.values(texts).map(({ subject }) => subject)));
    if (subjects.size === 0) return holders.map(() => ({}));
    const opening = await keys.forOpening(subjects);
    return holders.map(({ texts, of }) =>
      Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, opened(text, of, field, opening)])),
    );
  }

  async function open<D extends object>(documents: readonly D[], owner: (document: D) => string): Promise<Opened<D>[]> {
    const texts = await openTexts(documents.map((each) => ({ texts: sealedTextsIn(each), of: owner(each) })));
    return documents.map((document, index) => merged(document, texts[index] ?? {}));
  }

  return {
    openTexts,

    /** Bookings with their texts opened, see {@link openTexts}. */
    openBookings: <D extends OfBooking>(documents: readonly D[]): Promise<Opened<D>[]> =>
      open(documents, ownerOf.booking),

    /** Reviews with their texts opened, see {@link openTexts}. */
    openReviews: <D extends OfBooking>(documents: readonly D[]): Promise<Opened<D>[]> =>
      open(documents, ownerOf.review),

    /** Closed times with their titles opened, see {@link openTexts}. */
    openClosures: <D extends { readonly closureId: ClosureId }>(documents: readonly D[]): Promise<Opened<D>[]> =>
      open(documents, ownerOf.closure),

    /** What is written about spaces, opened, see {@link openTexts}. */
    openSpaceTexts: <D extends { readonly spaceId: SpaceId }>(documents: readonly D[]): Promise<Opened<D>[]> =>
      open(documents, ownerOf.space),

    /** What is written about communities, opened, see {@link openTexts}. */
    openHouseTexts: <D extends { readonly communityId: CommunityId }>(documents: readonly D[]): Promise<Opened<D>[]> =>
      open(documents, ownerOf.community),

    /** What communities keep about customers, opened, see {@link openTexts}. */
    openCustomers: <D extends { readonly communityId: CommunityId; readonly brandId: BrandId }>(
      documents: readonly D[],
    ): Promise<Opened<D>[]> => open(documents, ownerOf.customer),

    /** Messages and notes about bookings with their texts opened, see {@link openTexts}. */
    openThreads: <D extends OfBooking>(documents: readonly D[]): Promise<Opened<D>[]> =>
      open(documents, ownerOf.thread),

    /** Messages about spaces with their texts opened, see {@link openTexts}. */
    openQuestions: <D extends { readonly spaceId: SpaceId; readonly brandId: BrandId }>(
      documents: readonly D[],
    ): Promise<Opened<D>[]> => open(documents, ownerOf.question),

    /** Events with their texts opened, see {@link openTexts}. */
    async openEvents<E extends DomainEvent>(events: readonly E[]): Promise<Readable<E>[]> {
      const texts = await openTexts(
        events.map((event) => ({ texts: sealedTextsIn(event.data), of: textOwnerOf(event) ?? '' })),
      );
      return events.map((event, index) => withTexts(event, texts[index] ?? {}));
    },

    /**
     * Seals the personal texts of a decided event before it is stored. Refuses `BookingNotAllowed` if the subject has been
     * forgotten.
     * @param author the user who wrote the reason or the title; default: the account
     */
    async sealEvent<E extends DomainEvent>(event: E, author: Subject | undefined): Promise<E | Refusal> {
      const written = writtenIn(event, author);
      if (written === undefined) return event;
      return sealedWith(event, written, await keys.forSealing(written.subject));
    },

    /** A digest that identifies a repeated request without revealing its text. Refuses if the subject has been forgotten. */
    async fingerprint(subject: Subject, request: string): Promise<string | Refusal> {
      const key = await keys.forSealing(subject);
      if (key === 'forgotten') return forgottenSubject(subject);
      return createHmac('sha256', derivedKey(key, purposes.requestFingerprints)).update(request).digest('base64url');
    },

    /** Seals a copy of a personal text. Returns {@link ERASED} if the subject has been forgotten meanwhile. */
    async sealText(subject: Subject, of: string, field: string, text: string): Promise<PersonalText> {
      const key = await keys.forSealing(subject);
      return key === 'forgotten' ? ERASED : sealedText(key, subject, of, field, text);
    },

    /** Destroys the key of a subject for good. From then on its texts read as erased, in every process. */
    destroyKey: keys.destroy,

    /** Whether a subject has, or had, a key: it wrote something, or was forgotten. */
    isKnown: keys.isKnown,

    /** Whether a subject was forgotten. */
    isForgotten: keys.isForgotten,

    /** Changes whenever a subject is forgotten. Responses with opened texts may be cached until then. */
    forgottenVersion: keys.forgottenVersion,
  };
}

function opened(
  { subject, sealed }: SealedText,
  of: string,
  field: string,
  keys: ReadonlyMap<Subject, KeyOrForgotten>,
): string {
  const key = keys.get(subject);
  if (key === undefined) throw new Error(`The key of ${subject} was not asked for`);
  return key === 'forgotten' ? ERASED : unseal(key, purposes.personalText(subject, of, field), sealed);
}

function merged<D extends object>(document: D, texts: Texts): Opened<D>;
function merged(document: object, texts: Texts): object {
  return { ...document, ...texts };
}

function sealedWith<E extends DomainEvent>(
  event: E,
  { subject, of, texts }: Written,
  key: KeyOrForgotten,
): E | Refusal {
  if (key === 'forgotten') return forgottenSubject(subject);
  const sealed = Object.entries(texts).map(([field, text]) => [field, sealedText(key, subject, of, field, text)]);
  return { ...event, data: { ...event.data, ...Object.fromEntries(sealed) } };
}

const sealedText = (key: Buffer, subject: Subject, of: string, field: string, text: string): SealedText => ({
  subject,
  sealed: seal(key, purposes.personalText(subject, of, field), text),
});

/** Refuses a personal text of a forgotten subject (docs/decisions/personal-data.md). */
const forgottenSubject = (subject: Subject): Refusal =>
  refuse(
    'BookingNotAllowed',
    `The personal data of ${subjectInWords(subject)} was erased for good, so no text of it can be stored. Leave the text out.`,
  );
