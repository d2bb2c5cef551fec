import { randomBytes } from 'node:crypto';
import type { Collection, DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { BookingDetails } from '../domain/booking-details.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Refusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { BookingId, BrandId, Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';

/** The space that a person wants to book, and what of the request is known. */
export type WantedBooking = Pick<BookingDetails, 'spaceId'> & Partial<BookingDetails>;

/** What a stranger typed. It is stored sealed, because it may be about another person. */
export type SignUpContent = {
  readonly brandName: string;
  readonly email: string;
  readonly passwordHash: string;
  readonly wanted?: WantedBooking;
};

/** The ids of what a sign-up makes, chosen before anything is made, so that repeating it makes nothing twice. */
type Made = { readonly userId: string; readonly brandId: BrandId };

/** What came of a sign-up. */
export type SignedUp = Made & {
  /** The request that was sent. */
  readonly bookingId?: BookingId;
  /** Why the request was not sent. */
  readonly refusal?: Refusal;
  /** What was wanted, if no request was sent. */
  readonly wanted?: WantedBooking;
};

type SignUpDocument = {
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
  /** What was typed; what came of it, once it has ended. */
  readonly sealed: string;
  readonly hasEnded?: true;
  /** From its confirmation until all of it is made. */
  readonly isBegun: 'yes' | 'no';
  readonly made?: Made;
  /** The digest of the form that confirmed it. */
  readonly form?: string;
};

/** A sign-up that has not ended. */
export type SignUp = { readonly id: string; readonly createdAt: Timestamp; readonly content: SignUpContent };

/** One that has ended, with the form that confirmed it. */
type EndedSignUp = Pick<SignUpDocument, 'form' | 'createdAt'> & { readonly outcome: SignedUp };

const SIGN_UPS: Collection<SignUpDocument> = {
  name: 'signUps',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [{ fields: ['isBegun'], where: { isBegun: 'yes' } }],
};

const begun = declareQuery(SIGN_UPS, (): Find<SignUpDocument> => ({ where: { isBegun: 'yes' } }), []);

/** How long the link works. */
export const SIGN_UP_MS = 24 * 60 * 60_000;
/** For how long what a process began is finished by others, which an outage of the log delays. What was typed stays as long. */
const BEGUN_MS = 30 * SIGN_UP_MS;
/** How long the form that confirmed it may be sent again: a double click, or a browser that got no answer. */
const ENDED_MS = 10 * 60_000;

export type SignUpRecords = Awaited<ReturnType<typeof openSignUpRecords>>;

/** The stored sign-ups: what was typed until it ends, at the latest after a day, and how far those have come that were confirmed. */
export async function openSignUpRecords(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
}) {
  const { secretKey, clock } = deps;
  const records = await deps.documents.open(SIGN_UPS);
  const after = (ms: number) => toTimestamp(clock() + ms);
  const sealFor = (id: string, content: SignUpContent | SignedUp): string =>
    seal(secretKey, purposes.signUp(id), JSON.stringify(content));

  async function get(id: string): Promise<SignUp | EndedSignUp | undefined> {
    const document = (await records.get(id))?.document;
    if (document === undefined || Date.parse(document.expiresAt) <= clock()) return undefined;
    const { createdAt, sealed, form, hasEnded } = document;
    const text = unseal(secretKey, purposes.signUp(id), sealed);
    if (!hasEnded) {
      const content: SignUpContent = JSON.parse(text);
      return { id, createdAt, content };
    }
    const outcome: SignedUp = JSON.parse(text);
    return { createdAt, outcome, ...defined({ form }) };
  }

  return {
    get,

    async add(content: SignUpContent): Promise<SignUp> {
      const id = `sgn_${randomBytes(12).toString('base64url')}`;
      const createdAt = after(0);
      await records.insert(id, {
        createdAt,
        expiresAt: after(SIGN_UP_MS),
        sealed: sealFor(id, content),
        isBegun: 'no',
      });
      return { id, createdAt, content };
    },

    /** Begins to make what a sign-up makes. @returns its ids, the same each time; undefined if it has ended */
    async begin(id: string, ids: () => Promise<Made>, form: string | undefined): Promise<Made | undefined> {
      const { stored } = await records.update(id, async (document) => {
        if (document === undefined || document.made !== undefined) return undefined;
        const made = await ids();
        return { ...document, made, isBegun: 'yes', expiresAt: after(BEGUN_MS), ...(form !== undefined && { form }) };
      });
      return stored?.document.hasEnded ? undefined : stored?.document.made;
    },

    /** Erases what was typed, but for a request that was not sent. @param outcome undefined if nothing was made */
    async end(id: string, outcome: SignedUp | undefined): Promise<void> {
      if (outcome === undefined) return void (await records.delete(id));
      await records.update(id, (document) => {
        if (document === undefined || document.hasEnded) return undefined;
        return { ...document, sealed: sealFor(id, outcome), hasEnded: true, isBegun: 'no', expiresAt: after(ENDED_MS) };
      });
    },

    /** Ends the one that is making a user, who is being removed. */
    async endOf(userId: string): Promise<void> {
      for await (const { key, document } of records.find(begun()))
        if (document.made?.userId === userId) await records.delete(key);
    },

    /** The ids of those that were confirmed and are not finished. */
    begun: (): Promise<string[]> => Array.fromAsync(records.find(begun()), ({ key }) => key),
  };
}
