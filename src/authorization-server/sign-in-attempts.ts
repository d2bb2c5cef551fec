import { hash } from 'node:crypto';
import { normalisedEmail } from '../auth/users.ts';
import { createLruCache } from '../runtime/lru-cache.ts';

const WINDOW_MS = 15 * 60_000;
const MAX_TRACKED = 100_000;

/** Counts sign-in attempts per e-mail, from anywhere and whether or not such a user exists. Kept per process. */
export type SignInAttempts = {
  /** Counts an attempt. @returns false if there were too many in the last 15 minutes */
  begin(email: string): boolean;
  /** Resets the count after the right password: the failures before it were the user's own typos. */
  succeeded(email: string): void;
};

export function createSignInAttempts(max: number): SignInAttempts {
  const attempts = createLruCache<string, number>(MAX_TRACKED, { ttl: WINDOW_MS, noUpdateTTL: true });
  return {
    begin(email) {
      const key = keyOf(email);
      const count = (attempts.get(key) ?? 0) + 1;
      attempts.set(key, count);
      return count <= max;
    },
    succeeded: (email) => void attempts.delete(keyOf(email)),
  };
}

/** The same key for every spelling that finds the same user, hashed because the input may be arbitrarily long. */
const keyOf = (email: string) => hash('sha256', normalisedEmail(email), 'base64url');
