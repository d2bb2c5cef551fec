import { createHmac } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import type { SecretKey } from '../secrets/secret-key.ts';

/** The number of attempts allowed in a window of this many milliseconds, which starts at the first. */
type AttemptLimit = { readonly max: number; readonly windowMs: number };

/** The number of attempts in a window, and its end. */
type Counted = { readonly count: number; readonly until: Timestamp };

/** Wrong passwords, registrations, fetches of documents, forms in the console. */
const COLLECTION: Collection<Counted> = { name: 'attemptCounts', kind: 'record', ttl: 'until', indexes: [] };

export type AttemptCounts = Awaited<ReturnType<typeof openAttemptCounts>>;

/**
 * Counts attempts, such as those of unauthenticated clients, across all processes (docs/decisions/accounts.md). The key of a record is an HMAC, so it does
 * not reveal the address or e-mail.
 */
export async function openAttemptCounts(deps: {
  readonly documents: DocumentStore;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
}) {
  const { clock } = deps;
  const counts = await deps.documents.open(COLLECTION);
  const key = derivedKey(deps.secretKey, purposes.attemptCounts);
  const keyOf = (of: readonly string[]) => createHmac('sha256', key).update(of.join(' ')).digest('base64url');

  return {
    /** Counts one more attempt, unless there were too many. @returns 0 if counted, otherwise the wait in milliseconds */
    async add(of: readonly string[], { max, windowMs }: AttemptLimit): Promise<number> {
      let waitMs = 0;
      await counts.update(keyOf(of), (counted) => {
        const now = clock();
        const current = counted && isOpen(counted, now, windowMs) ? counted : undefined;
        waitMs = current !== undefined && current.count >= max ? Date.parse(current.until) - now : 0;
        if (waitMs > 0) return undefined;
        return { count: (current?.count ?? 0) + 1, until: current?.until ?? toTimestamp(now + windowMs) };
      });
      return waitMs;
    },

    /** Removes one attempt from the count. */
    async takeBack(of: readonly string[]): Promise<void> {
      await counts.update(keyOf(of), (counted) =>
        counted === undefined || counted.count === 0 ? undefined : { ...counted, count: counted.count - 1 },
      );
    },

    /** Resets the count. */
    async forget(of: readonly string[]): Promise<void> {
      await counts.delete(keyOf(of));
    },
  };
}

/** Ignores a window that ends too late, which a process with a fast clock began. */
function isOpen({ until }: Counted, now: number, windowMs: number): boolean {
  const left = Date.parse(until) - now;
  return left > 0 && left <= windowMs;
}
