import type { DocumentStore } from '../document-store/document-store.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import {
  ENDED,
  type EndingType,
  ISSUED_FEEDS,
  ISSUED_KEYS,
  type IssuedFeed,
  type IssuedKey,
  issuedFeed,
} from './records.ts';

/** The maximum age of a check. */
const FRESH_MS = 1_000;
const CACHED_CHECKS = 10_000;

/** A look-up of an ended credential, and when it began (monotonic). */
type Check = { readonly at: number; readonly isEnded: Promise<boolean> };

export type Credentials = Awaited<ReturnType<typeof openCredentials>>;

/**
 * Which API keys, webhook registrations and calendar feeds are valid, from records that are written before the command that issues or ends one is
 * answered. So neither the read models nor an outage of the log matter (docs/decisions/credentials.md).
 */
export async function openCredentials(documents: Pick<DocumentStore, 'open'>) {
  const keys = await documents.open(ISSUED_KEYS);
  const feeds = await documents.open(ISSUED_FEEDS);
  const ended = await documents.open(ENDED);
  const checks = createLruCache<string, Check>(CACHED_CHECKS);

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
    isEnded(id: string): Promise<boolean> {
      const at = performance.now();
      const last = checks.get(id);
      if (last !== undefined && at - last.at < FRESH_MS) return last.isEnded;
      const check: Check = { at, isEnded: ended.get(id).then((record) => record !== undefined) };
      checks.set(id, check);
      check.isEnded.catch(() => checks.get(id) === check && checks.delete(id));
      return check.isEnded;
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
      checks.delete(id);
    },
  };
}
