import type { DocumentStore } from '../document-store/document-store.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import {
  ENDED,
  type EndingType,
  ISSUED_FEEDS,
  ISSUED_KEYS,
  type IssuedFeed,
  type IssuedKey,
  issuedFeed,
  recordSuspension,
  SUSPENSIONS,
  type Suspension,
} from './records.ts';

/** The maximum age of a check. */
const FRESH_MS = 1_000;
const CACHED_CHECKS = 10_000;

/** A look-up, and when it began (monotonic). */
type Check = { readonly at: number; readonly answer: Promise<boolean> };

export type Credentials = Awaited<ReturnType<typeof openCredentials>>;

/**
 * Which API keys, webhook registrations and calendar feeds are valid, and which accounts are suspended, from records that are
 * written before the command that issues or ends one is
 * answered. So neither the read models nor an outage of the log matter (docs/decisions/credentials.md).
 */
export async function openCredentials(documents: Pick<DocumentStore, 'open'>) {
  const keys = await documents.open(ISSUED_KEYS);
  const feeds = await documents.open(ISSUED_FEEDS);
  const ended = await documents.open(ENDED);
  const suspensions = await documents.open(SUSPENSIONS);
  const endings = createFreshChecks(async (id) => (await ended.get(id)) !== undefined);
  const suspended = createFreshChecks(
    async (account) => (await suspensions.get(account))?.document.isSuspended === true,
  );

  return {
    /** The key with this hash, revoked or not. */
    async issuedKey(hash: string): Promise<IssuedKey | undefined> {
      return (await keys.get(hash))?.document;
    },

    /** The calendar feed with this hash, ended or not. */
    async issuedFeed(hash: string): Promise<IssuedFeed | undefined> {
      return (await feeds.get(hash))?.document;
    },

    /** Whether an API key or a feed was revoked, or a registration removed, as of at most 1 s ago. */
    isEnded: endings.check,

    /** Whether the operator has suspended an account, as of at most 1 s ago. */
    isSuspended: (account: Account): Promise<boolean> => suspended.check(accountKey(account)),

    /** Records whether an account is suspended. Call it after the event is stored and before the command is answered. */
    async setSuspended(account: Account, suspension: Suspension): Promise<void> {
      await recordSuspension(suspensions, accountKey(account), suspension);
      suspended.forget(accountKey(account));
    },

    /** Records a key. Call it before the key is issued, so that every valid key has a record. */
    async add(hash: string, key: IssuedKey): Promise<void> {
      await keys.insert(hash, key);
    },

    /** Records a feed. Call it before the command that adds it is answered. */
    async addFeed(hash: string, feed: IssuedFeed): Promise<void> {
      await feeds.insert(hash, issuedFeed(feed));
    },

    /** Records the end of a credential. Call it after the event is stored and before the command is answered. */
    async end(id: string, by: EndingType): Promise<void> {
      await ended.insert(id, { by });
      endings.forget(id);
    },
  };
}

/** Answers of `look` that are reused while they are fresh. */
function createFreshChecks(look: (id: string) => Promise<boolean>) {
  const checks = createLruCache<string, Check>(CACHED_CHECKS);
  return {
    check(id: string): Promise<boolean> {
      const at = performance.now();
      const last = checks.get(id);
      if (last !== undefined && at - last.at < FRESH_MS) return last.answer;
      const check: Check = { at, answer: look(id) };
      checks.set(id, check);
      check.answer.catch(() => checks.get(id) === check && checks.delete(id));
      return check.answer;
    },
    forget: (id: string) => checks.delete(id),
  };
}
