import { networkOf } from '../auth/networks.ts';
import { normalisedEmail } from '../domain/email-address.ts';
import type { AttemptCounts } from './attempt-counts.ts';

/** Wrong passwords within the window: for an e-mail from one network, and from one network for any e-mail. */
export type SignInLimits = { readonly perEmail: number; readonly perNetwork: number };

const WINDOW_MS = 15 * 60_000;

export type SignInAttempts = ReturnType<typeof createSignInAttempts>;

/**
 * Counts wrong passwords, or other attempts that name an e-mail, across all processes, for existing and unknown users alike
 * (docs/decisions/accounts.md). Attempts from one network never count against another, so an attacker cannot lock a user out everywhere.
 */
export function createSignInAttempts(deps: {
  readonly counts: AttemptCounts;
  readonly limits: SignInLimits;
  /** What is attempted, if not a sign-in. Counted apart: a user who has forgotten the password has tried some. */
  readonly what?: string;
}) {
  const { counts, limits, what } = deps;
  const kind = what === undefined ? [] : [what];
  const within = (max: number) => ({ max, windowMs: WINDOW_MS });
  const countedFor = (email: string, address: string) => {
    const network = networkOf(address);
    return { ofNetwork: [...kind, network], ofEmail: [...kind, network, normalisedEmail(email)] };
  };

  return {
    /**
     * Counts an attempt as failed before its password is compared, so that concurrent attempts count too.
     * @returns 0 if allowed, otherwise the wait in milliseconds; a refused attempt is not counted
     */
    async begin(email: string, address: string): Promise<number> {
      const { ofNetwork, ofEmail } = countedFor(email, address);
      const wait = await counts.add(ofNetwork, within(limits.perNetwork));
      if (wait > 0) return wait;
      const waitForEmail = await counts.add(ofEmail, within(limits.perEmail));
      if (waitForEmail > 0) await counts.takeBack(ofNetwork);
      return waitForEmail;
    },

    /** Call when the password was right: resets the count of the e-mail, and removes this attempt from the count of the network. */
    async succeeded(email: string, address: string): Promise<void> {
      const { ofNetwork, ofEmail } = countedFor(email, address);
      await Promise.all([counts.forget(ofEmail), counts.takeBack(ofNetwork)]);
    },
  };
}
