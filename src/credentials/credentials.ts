import type { DocumentStore } from '../document-store/document-store.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { addMissingRecords, ENDED, type EndingType, ISSUED_KEYS, type IssuedKey } from './records.ts';

/** The maximum age of a check. */
const FRESH_MS = 1_000;
const CACHED_CHECKS = 10_000;

/** A look-up of an ended credential, and when it began (monotonic). */
type Check = { readonly at: number; readonly isEnded: Promise<boolean> };

/**
 * Which API keys and webhook registrations are valid, from records that are written before the command that issues or ends one is
 * answered. So neither the read models nor an outage of the log matter (docs/decisions/credentials.md).
 */
export type Credentials = {
  /** The key with this hash, revoked or not. */
  issuedKey(hash: string): Promise<IssuedKey | undefined>;
  /** Whether an API key was revoked, or a registration removed, as of at most 1 s ago. */
  isEnded(id: string): Promise<boolean>;
  /** Records a key. Call it before the key is issued, so that every valid key has a record. */
  add(hash: string, key: IssuedKey): Promise<void>;
  /** Records the end of a credential. Call it after the event is stored and before the command is answered. */
  end(id: string, by: EndingType): Promise<void>;
};

export async function openCredentials(deps: {
  readonly events: Pick<EventStore, 'readAll' | 'lastEvent'>;
  readonly documents: Pick<DocumentStore, 'open'>;
}): Promise<Credentials> {
  const keys = await deps.documents.open(ISSUED_KEYS);
  const ended = await deps.documents.open(ENDED);
  const checks = createLruCache<string, Check>(CACHED_CHECKS);
  let comparing: Promise<void> | undefined;

  return {
    async issuedKey(hash) {
      const key = (await keys.get(hash))?.document;
      if (key === undefined || isComplete(key)) return key;
      // A process of an earlier release has just issued it.
      comparing ??= addMissingRecords(deps).finally(() => {
        comparing = undefined;
      });
      await comparing;
      const completed = (await keys.get(hash))?.document;
      return completed && isComplete(completed) ? completed : undefined;
    },

    isEnded(id) {
      const at = performance.now();
      const last = checks.get(id);
      if (last !== undefined && at - last.at < FRESH_MS) return last.isEnded;
      const check: Check = { at, isEnded: ended.get(id).then((found) => found !== undefined) };
      checks.set(id, check);
      check.isEnded.catch(() => checks.get(id) === check && checks.delete(id));
      return check.isEnded;
    },

    async add(hash, key) {
      await keys.insert(hash, key);
    },

    async end(id, by) {
      await ended.insert(id, { by });
      checks.delete(id);
    },
  };
}

const isComplete = (key: Partial<IssuedKey>): key is IssuedKey =>
  key.apiKeyId !== undefined && key.account !== undefined && key.permissions !== undefined;
