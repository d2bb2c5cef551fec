import { createHmac } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import type { SecretKey } from '../secrets/secret-key.ts';

/** How many attempts there may be from the first of them on, for so many milliseconds. */
type AttemptLimit = { readonly max: number; readonly windowMs: number };

/**
 * Counts attempts of strangers, over all processes (docs/decisions/accounts.md). What is counted (an address, an e-mail) cannot be
 * read from what is stored.
 */
export type AttemptCounts = {
  /** Counts one more, unless there were too many. @returns 0 if so, otherwise how long to wait in milliseconds */
  add(of: readonly string[], limit: AttemptLimit): Promise<number>;
  /** Takes one back. */
  takeBack(of: readonly string[]): Promise<void>;
  /** Takes all back. */
  forget(of: readonly string[]): Promise<void>;
};

/** How many there were since the first, of which the window ends then. */
type Counted = { readonly count: number; readonly until: Timestamp };

/** Its name is that of the attempts which were counted first. */
const COLLECTION: Collection<Counted> = { name: 'signInAttempts', kind: 'record', ttl: 'until', indexes: [] };

export async function openAttemptCounts(deps: {
  readonly documents: DocumentStore;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
}): Promise<AttemptCounts> {
  const { clock } = deps;
  const counts = await deps.documents.open(COLLECTION);
  const key = derivedKey(deps.secretKey, purposes.signInAttempts);
  const keyOf = (of: readonly string[]) => createHmac('sha256', key).update(of.join(' ')).digest('base64url');

  return {
    async add(of, { max, windowMs }) {
      for (;;) {
        const now = clock();
        const stored = await counts.get(keyOf(of));
        const known = stored && isOpen(stored.document, now, windowMs) ? stored.document : undefined;
        if (known !== undefined && known.count >= max) return Date.parse(known.until) - now;
        const next = { count: (known?.count ?? 0) + 1, until: known?.until ?? toTimestamp(now + windowMs) };
        const isWritten =
          stored === undefined
            ? await counts.insert(keyOf(of), next)
            : await counts.replace(keyOf(of), next, stored.version);
        if (isWritten) return 0;
      }
    },

    async takeBack(of) {
      for (;;) {
        const stored = await counts.get(keyOf(of));
        if (stored === undefined || stored.document.count === 0) return;
        const next = { ...stored.document, count: stored.document.count - 1 };
        if (await counts.replace(keyOf(of), next, stored.version)) return;
      }
    },

    async forget(of) {
      await counts.delete(keyOf(of));
    },
  };
}

/** A window that ends later than any can was begun by a clock that was ahead. */
function isOpen({ until }: Counted, now: number, windowMs: number): boolean {
  const left = Date.parse(until) - now;
  return left > 0 && left <= windowMs;
}
