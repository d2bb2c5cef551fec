import { createHash } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';

type UsedKey = {
  readonly fingerprint: string;
  readonly expiresAt: Timestamp;
  /** How many requests with this key are in progress or were accepted. */
  readonly requests: number;
};

const collection: Collection<UsedKey> = { name: 'idempotencyKeys', kind: 'record', indexes: [], ttl: 'expiresAt' };

/** How long a key belongs to its request. */
export const IDEMPOTENCY_KEY_KEPT_MS = 30 * 24 * 3_600_000;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

/**
 * Records the request that first used each idempotency key. The space-day makes sure that a repeated request never books twice; this
 * catches a key reused for a different request, which may belong to another day (docs/decisions/event-log.md).
 */
export async function openIdempotencyKeys(store: DocumentStore, clock: Clock) {
  const documents = await store.open(collection);

  /** Releases one request. The last one removes the record, unless another request has taken the key meanwhile. */
  async function release(id: string): Promise<void> {
    const { stored } = await documents.update(id, (used) => used && { ...used, requests: used.requests - 1 });
    if (stored?.document.requests === 0) await documents.delete(id, stored.version);
  }

  return {
    /**
     * Claims an owner's key for a request. A request that is refused has to release its claim.
     * @param digest for a personal request: a keyed hash, stored instead of a plain one, from which the request could be guessed
     * @returns undefined if the key was used for a different request in the last 30 days
     */
    async claim(owner: string, key: string, request: string, digest?: string) {
      const id = `${owner}:${hashOf(key)}`;
      const fingerprint = digest ?? hashOf(request);
      const first: UsedKey = {
        fingerprint,
        expiresAt: toTimestamp(clock() + IDEMPOTENCY_KEY_KEPT_MS),
        requests: 1,
      };
      const claim = { release: () => release(id) };
      if (await documents.insert(id, first)) return claim;
      const { stored } = await documents.update(id, (used) => {
        // One that has expired only waits to be removed.
        if (used === undefined || used.requests === 0 || Date.parse(used.expiresAt) <= clock()) return first;
        return used.fingerprint === fingerprint ? { ...used, requests: used.requests + 1 } : undefined;
      });
      return stored?.document.fingerprint === fingerprint ? claim : undefined;
    },
  };
}
