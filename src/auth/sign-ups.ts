import { createHash } from 'node:crypto';
import { type Account, brandOf } from '../domain/account.ts';
import { type BookingDetails, wrongDetails } from '../domain/booking-details.ts';
import { localDate, toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse, refuseField, refuseFor } from '../domain/decision.ts';
import { isAddress, normalisedEmail } from '../domain/email-address.ts';
import type { BookingId, BrandId } from '../domain/ids.ts';
import { NAME, wrongText } from '../domain/limits.ts';
import type { LinkedDeps, TimedLink } from './link-mail.ts';
import { LINK_ENDED, LINK_PATHS } from './links.ts';
import { hashPassword, isPassword } from './passwords.ts';
import { SIGN_UP_MS, type SignedUp, type SignUp, type SignUpRecords, type WantedBooking } from './sign-up-records.ts';
import type { ChangeContext } from './unlogged-changes.ts';
import { newUserId } from './user-record.ts';
import { type User, type Users, wrongPassword } from './users.ts';

export type { SignUp, WantedBooking };

/** What a person types to sign up a brand. */
type Typed = {
  readonly brandName: string;
  readonly email: string;
  readonly password: string;
  readonly wanted?: WantedBooking;
};

/** How a person shows that it was they who signed up, and not only that they read mail at the address. */
type Proof = {
  /** The sign-up that began in this browser, if one did. */
  readonly begunHere: string | undefined;
  readonly password: string;
  /** Identifies the form, which may be sent twice. */
  readonly form: string;
  /** The address of the network. */
  readonly from: string;
};

/** A new brand, its first Manager, and what became of the request. */
export type NewBrand = { readonly user: User; readonly account: Account; readonly outcome: SignedUp };

export type SignUps = ReturnType<typeof createSignUps>;

export const HAS_SIGN_IN = refuse('ValidationError', 'This address has a sign-in by now. Sign in with it.');
const WRONG_PASSWORD = refuse('ValidationError', 'This is not the password with which you signed up.');
const TOO_MANY_PASSWORDS = refuse('ValidationError', 'Too many wrong passwords. Sign up again.');

/**
 * Signs up brands. Until the address is confirmed there is no user, no brand and no request, and nothing that the person sees or waits for
 * depends on whether the address has a sign-in (docs/decisions/accounts.md#signing-up).
 */
export function createSignUps(
  deps: LinkedDeps & {
    readonly records: SignUpRecords;
    readonly users: Pick<Users, 'get' | 'byEmail' | 'addConfirmed' | 'addAccount' | 'remove'>;
    /** Counts a sign-up. @returns the wait in milliseconds if there were too many, otherwise 0 */
    readonly countSignUp: (email: string, from: string) => Promise<number>;
    /** Counts a password typed for a sign-up. @returns the same */
    readonly countPassword: (id: string) => Promise<number>;
    readonly nextBrandId: () => Promise<BrandId>;
    /** Adds a brand, unless it is there. */
    readonly addBrand: (
      brand: { readonly brandId: BrandId; readonly name: string },
      context: ChangeContext,
    ) => Promise<Refusal | undefined>;
    /** Requests a booking, once for each key. */
    readonly request: (
      request: { readonly brandId: BrandId; readonly details: BookingDetails; readonly idempotencyKey: string },
      context: ChangeContext,
    ) => Promise<{ readonly bookingId: BookingId } | Refusal>;
  },
) {
  const { records, users, links, mails, clock, publicUrl } = deps;

  function linkTo({ id, createdAt }: SignUp): TimedLink {
    const until = Date.parse(createdAt) + SIGN_UP_MS;
    const token = links.make({ purpose: 'sign-up', id, until, state: [createdAt] });
    return { url: `${publicUrl}${LINK_PATHS.signUp}?link=${token}`, until: toTimestamp(until) };
  }

  /** The sign-up of a link, ended or not; undefined if the link is not one of ours, or too old. */
  async function read(token: string) {
    const link = links.read(token);
    const signUp = link && (await records.get(link.id));
    if (link === undefined || signUp === undefined) return undefined;
    return links.purposeOf(link, ['sign-up'], [signUp.createdAt]) && signUp;
  }

  async function check(token: string): Promise<SignUp | undefined> {
    const signUp = await read(token);
    return signUp === undefined || 'outcome' in signUp ? undefined : signUp;
  }

  async function isOpen(id: string): Promise<boolean> {
    const signUp = await records.get(id);
    return signUp !== undefined && !('outcome' in signUp);
  }

  async function isProved({ id, content }: SignUp, { begunHere, password, from }: Proof): Promise<Refusal | undefined> {
    if (begunHere === id) return undefined;
    if ((await deps.countPassword(id)) > 0) return TOO_MANY_PASSWORDS;
    return (await isPassword(password, content.passwordHash, from)) ? undefined : WRONG_PASSWORD;
  }

  async function newBrand(outcome: SignedUp): Promise<NewBrand | Refusal> {
    const user = await users.get(outcome.userId);
    return user === undefined ? LINK_ENDED : { user, account: brandOf(outcome), outcome };
  }

  /**
   * Makes all that a confirmed sign-up makes: the user, who has no account yet, so that the address is taken; the brand;
   * the membership; the request. Each step does nothing the second time. Removing the user ends it.
   */
  async function complete(
    { id, content }: SignUp,
    context: Omit<ChangeContext, 'actor'>,
    form?: string,
  ): Promise<SignedUp | Refusal> {
    const { email, passwordHash, brandName: name } = content;
    const ids = async () => ({ userId: newUserId(), brandId: await deps.nextBrandId() });
    const made = await records.begin(id, ids, form);
    if (made === undefined) return LINK_ENDED;
    const { userId, brandId } = made;
    const account = brandOf({ brandId });
    const by: ChangeContext = { ...context, actor: { kind: 'user', id: userId, account } };
    const added = await users.addConfirmed({ id: userId, email, passwordHash });
    if (isRefusal(added)) {
      await records.end(id, undefined);
      return added.refused === 'ResourceNotFound' ? LINK_ENDED : HAS_SIGN_IN;
    }
    // Another process made the user, who was removed while this one was held up.
    if (added === 'added' && !(await isOpen(id))) {
      await users.remove(userId, by);
      return LINK_ENDED;
    }
    mustBeDone(await deps.addBrand({ brandId, name }, by));
    if (isRefusal(await users.addAccount(userId, account, 'Manager', by))) return LINK_ENDED;
    const outcome = { ...made, ...(await requested(id, brandId, content.wanted, by)) };
    await records.end(id, outcome);
    return outcome;
  }

  async function requested(
    id: string,
    brandId: BrandId,
    wanted: WantedBooking | undefined,
    context: ChangeContext,
  ): Promise<Omit<SignedUp, 'userId' | 'brandId'>> {
    if (wanted === undefined) return {};
    if (!isWhole(wanted)) return { wanted };
    const booking = await deps.request({ brandId, details: wanted, idempotencyKey: id }, context);
    return isRefusal(booking) ? { wanted, refusal: booking } : { bookingId: booking.bookingId };
  }

  return {
    /**
     * Keeps what was typed for a day, and sends a mail to the address: with the link, or, if it has a sign-in, with a word about that. The
     * address is looked up only then.
     * @returns the id of the sign-up, for the browser
     */
    async begin({ password, ...typed }: Typed, from: string): Promise<string | Refusal> {
      const email = normalisedEmail(typed.email);
      const wrong = refuseFor([
        wrongText('brandName', typed.brandName, NAME),
        isAddress(email) ? undefined : refuseField('email', 'must be an e-mail address'),
        wrongPassword(password),
        typed.wanted && wrongDetails({ date: localDate(clock(), 'UTC'), startHour: 0, ...typed.wanted }),
      ]);
      if (wrong !== undefined) return wrong;
      const waitMs = await deps.countSignUp(email, from);
      if (waitMs > 0)
        return refuse('ValidationError', 'There were too many sign-ups today.', {
          retryAfter: Math.ceil(waitMs / 1_000),
        });
      const passwordHash = await hashPassword(password, from);
      const { id, createdAt } = await records.add({ ...typed, email, passwordHash });
      await mails.enqueue({ kind: 'SignUp', cause: id, userId: id, about: {}, at: createdAt });
      return id;
    },

    /** Whom a mail goes to, and the link in it: none if the address has a sign-in. Undefined if the sign-up has ended. */
    async mailed(id: string): Promise<{ readonly email: string; readonly link: TimedLink | undefined } | undefined> {
      const signUp = await records.get(id);
      if (signUp === undefined || 'outcome' in signUp) return undefined;
      const { email } = signUp.content;
      const isKnown = (await users.byEmail(email)) !== undefined;
      return { email, link: isKnown ? undefined : linkTo(signUp) };
    },

    /** The sign-up of a link that works. Changes nothing. */
    check,

    /** Confirms the address: makes the brand and its first Manager, once, and sends the request that was begun. */
    async confirm(token: string, proof: Proof, context: Omit<ChangeContext, 'actor'>): Promise<NewBrand | Refusal> {
      const signUp = await read(token);
      if (signUp === undefined) return LINK_ENDED;
      const form = proof.form === '' ? undefined : digest(proof.form);
      if ('outcome' in signUp)
        return form !== undefined && form === signUp.form ? newBrand(signUp.outcome) : LINK_ENDED;
      const refusal = await isProved(signUp, proof);
      if (refusal !== undefined) return refusal;
      const outcome = await complete(signUp, context, form);
      return isRefusal(outcome) ? outcome : newBrand(outcome);
    },

    /** Finishes what processes that died had begun. */
    async finishChanges(): Promise<void> {
      const failures: unknown[] = [];
      for (const id of await records.begun()) {
        const signUp = await records.get(id);
        if (signUp === undefined || 'outcome' in signUp) continue;
        // One that fails must not block the others.
        await complete(signUp, { correlationId: id }).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw new AggregateError(failures, `${failures.length} sign-ups cannot be finished`);
    },
  };
}

/** Whether a request can be sent. */
const isWhole = (wanted: WantedBooking): wanted is BookingDetails =>
  wanted.date !== undefined && wanted.startHour !== undefined;

function mustBeDone(outcome: object | undefined): void {
  if (isRefusal(outcome)) throw new Error(`A sign-up cannot be finished: ${outcome.details}`);
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');
