import { createHash } from 'node:crypto';
import type { Collection, DocumentStore, Documents } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';

type UsedKey = { readonly fingerprint: string; readonly expiresAt: Timestamp };

const collection: Collection<UsedKey> = { name: 'idempotencyKeys', kind: 'record', indexes: [], ttl: 'expiresAt' };

/** How long a key is known to belong to its request. */
export const IDEMPOTENCY_KEY_KEPT_MS = 30 * 24 * 3_600_000;

/**
 * What each idempotency key was first used for. The space-day makes sure that repeating a request never books twice; this
 * catches a key reused for a different request, which may belong to another day (docs/decisions/event-log.md).
 */
export class IdempotencyKeys {
  readonly #documents: Documents<UsedKey>;
  readonly #clock: Clock;

  private constructor(documents: Documents<UsedKey>, clock: Clock) {
    this.#documents = documents;
    this.#clock = clock;
  }

  static async open(store: DocumentStore, clock: Clock): Promise<IdempotencyKeys> {
    return new IdempotencyKeys(await store.open(collection), clock);
  }

  /**
   * Claims an owner's key for a request.
   * @param digest replaces the request in the record if it is personal, so that the request cannot be guessed from it
   * @returns false if the key was used for a different request in the last 30 days
   */
  async claim(owner: string, key: string, request: string, digest?: string): Promise<boolean> {
    const fingerprint = digest ?? createHash('sha256').update(request).digest('base64url');
    const id = `${owner}:${createHash('sha256').update(key).digest('base64url')}`;
    const expiresAt = toTimestamp(this.#clock() + IDEMPOTENCY_KEY_KEPT_MS);
    if (await this.#documents.insert(id, { fingerprint, expiresAt })) return true;
    const used = await this.#documents.get(id);
    if (used === undefined) return true;
    return used.document.fingerprint === fingerprint;
  }
}
