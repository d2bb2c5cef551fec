import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { normalisedEmail } from '../auth/users.ts';

const WINDOW_MS = 15 * 60_000;
const REMEMBERED_EMAILS = 100_000;

/** Counts attempts to sign in with one e-mail, whoever makes them and whether or not it exists. Kept per process. */
export type SignInAttempts = {
  /** Counts one more. @returns false when there were too many in the last quarter of an hour */
  begin(email: string): boolean;
  /** The right password: what came before was the user's own mistyping. */
  succeeded(email: string): void;
};

export function createSignInAttempts(max: number): SignInAttempts {
  const attempts = new LRUCache<string, number>({ max: REMEMBERED_EMAILS, ttl: WINDOW_MS, noUpdateTTL: true });
  return {
    begin(email) {
      const key = keyOf(email);
      const made = (attempts.get(key) ?? 0) + 1;
      attempts.set(key, made);
      return made <= max;
    },
    succeeded: (email) => void attempts.delete(keyOf(email)),
  };
}

/** One key for every spelling that finds the same user, and a short one: what strangers send as an e-mail may be long. */
const keyOf = (email: string) => hash('sha256', normalisedEmail(email), 'base64url');
