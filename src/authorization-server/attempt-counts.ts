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
      let waitMs = 0;
      await counts.update(keyOf(of), (counted) => {
        const now = clock();
        const known = counted && isOpen(counted, now, windowMs) ? counted : undefined;
        waitMs = known !== undefined && known.count >= max ? Date.parse(known.until) - now : 0;
        if (waitMs > 0) return undefined;
        return { count: (known?.count ?? 0) + 1, until: known?.until ?? toTimestamp(now + windowMs) };
      });
      return waitMs;
    },

    async takeBack(of) {
      await counts.update(keyOf(of), (counted) =>
        counted === undefined || counted.count === 0 ? undefined : { ...counted, count: counted.count - 1 },
      );
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
