import { normalisedEmail } from '../domain/email-address.ts';
import { blockOf, networkOf } from './networks.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Sign-ups a day from one network, from one block of networks, and to one address. */
const PER_NETWORK = 20;
const PER_BLOCK = 100;
const PER_ADDRESS = 5;

/** Counts attempts across all processes; implemented by the authorization server. */
type Counts = {
  add(of: readonly string[], limit: { readonly max: number; readonly windowMs: number }): Promise<number>;
};

/**
 * Counts sign-ups: each sends a mail to an address that anyone may type, and keeps a record for a day. The count of an address is the same
 * whether or not it has a sign-in.
 * @param deps.perDay sign-ups a day from everywhere
 * @returns the wait in milliseconds if there were too many, otherwise 0
 */
export const createSignUpLimits =
  ({ counts, perDay }: { readonly counts: Counts; readonly perDay: number }) =>
  async (email: string, from: string): Promise<number> => {
    const limits: readonly (readonly [of: readonly string[], max: number])[] = [
      [['sign-ups', 'network', networkOf(from)], PER_NETWORK],
      [['sign-ups', 'block', blockOf(from)], PER_BLOCK],
      [['sign-ups', 'address', normalisedEmail(email)], PER_ADDRESS],
      // Last, so that those that are refused use up nothing of it.
      [['sign-ups'], perDay],
    ];
    for (const [of, max] of limits) {
      const waitMs = await counts.add(of, { max, windowMs: DAY_MS });
      if (waitMs > 0) return waitMs;
    }
    return 0;
  };
