import { createHmac, timingSafeEqual } from 'node:crypto';
import { refuse } from '../domain/decision.ts';
import type { Clock } from '../runtime/clock.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import { keysIn, type SecretKey } from '../secrets/secret-key.ts';

/** The page to sign up at. */
export const SIGN_UP_PATH = '/sign-up';

/** The pages that links open. */
export const LINK_PATHS = {
  forgottenPassword: '/console/password/forgotten',
  newPassword: '/console/password/new',
  address: '/console/address',
  invitation: '/console/invitation',
  contact: '/console/contact',
  signUp: `${SIGN_UP_PATH}/confirm`,
  unsubscribe: '/console/unsubscribe',
} as const;

/** The refusal of every link that does not work. It does not say why: that would tell a stranger something. */
export const LINK_ENDED = refuse('ResourceNotFound', 'This link has been used, has ended, or is not complete.');

/** What a link is for. One that the operator printed does not prove that its holder reads mail at the address. */
export type LinkPurpose =
  | 'reset'
  | 'reset by operator'
  | 'address'
  | 'invitation'
  | 'invitation by operator'
  | 'contact'
  | 'sign-up'
  | 'unsubscribe';

type Link = {
  readonly purpose: LinkPurpose;
  /** The user, the invitation or the sign-up. */
  readonly id: string;
  /** When it ends, in milliseconds since the epoch; whole seconds count. */
  readonly until: number;
  /** What its use changes, such as when the password was last changed, so that it works once. */
  readonly state: readonly string[];
};

/** A token before its code is checked. */
export type ReadLink = { readonly id: string; readonly until: number; readonly code: string };

export type Links = ReturnType<typeof createLinks>;

/**
 * Links in mails are derived from what they are about, not stored: the same link can be made again, and one that was used no longer fits
 * (docs/decisions/accounts.md).
 */
export function createLinks({ secretKey, clock }: { readonly secretKey: SecretKey; readonly clock: Clock }) {
  // The first one makes links, all of them check them.
  const [current, ...former] = keysIn(secretKey).map((key) => derivedKey(key, purposes.links));
  if (current === undefined) throw new Error('There is no secret key');

  const codeOf = (key: Buffer, { purpose, id, until, state }: Link): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([purpose, id, secondsOf(until), ...state]))
      .digest();

  return {
    /** The token of a link: the id, the end, and a code. */
    make: (link: Link): string =>
      `${link.id}.${secondsOf(link.until).toString(36)}.${codeOf(current, link).toString('base64url')}`,

    /** The parts of a token; undefined if it is malformed or too late. Nothing is proved before {@link purposeOf}. */
    read(token: string): ReadLink | undefined {
      const [, id, end = '', code] = /^([\w-]{1,64})\.([0-9a-z]{1,8})\.([\w-]{43})$/.exec(token) ?? [];
      const until = Number.parseInt(end, 36) * 1_000;
      return id === undefined || code === undefined || until <= clock() ? undefined : { id, until, code };
    },

    /** The one of these purposes that the token was made for, if what it is about is still as it was then. */
    purposeOf({ id, until, code }: ReadLink, of: readonly LinkPurpose[], state: readonly string[]) {
      const given = Buffer.from(code, 'base64url');
      return of.find((purpose) =>
        [current, ...former].some((key) => {
          const expected = codeOf(key, { purpose, id, until, state });
          return given.length === expected.length && timingSafeEqual(given, expected);
        }),
      );
    },
  };
}

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);
