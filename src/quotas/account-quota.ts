import type { Collection, DocumentStore, DocumentStoreOperations } from '../document-store/document-store.ts';
import type { AccountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { isUnavailable } from '../runtime/unavailable.ts';

/** What one account has of a kind, such as its webhook registrations. */
export type QuotaDocument<T> = {
  /** Those that it has, including those about to be made. */
  readonly taken: readonly Counted<T>[];
  /** When the latest were counted, including those that it no longer has. */
  readonly recent: readonly Timestamp[];
};

type Counted<T> = T & { readonly at: Timestamp };

/** What an account has when it asks for one more. */
export type QuotaUse<T> = {
  readonly items: readonly T[];
  /** When the latest were made within {@link RECENT_MS}, those that it no longer has included. */
  readonly recent: readonly number[];
  readonly now: number;
};

/** How long one counts that does not exist yet: far longer than making it can take. */
const UNFINISHED_MS = 3_600_000;
const RECENT_MS = 60_000;

/**
 * Counts what each account has of a kind, across all processes. One is counted before it is made. Whether those counted exist is only
 * looked up when a quota is used up, because a process may have died before it made one.
 */
export async function openAccountQuota<T extends object>(deps: {
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  /** One document per account. Never deleted: its version must not restart. */
  readonly collection: Collection<QuotaDocument<T>>;
  readonly idOf: (item: T) => string;
  /** Whether the account still has it; undefined if it was never made. */
  readonly exists: (id: string) => Promise<boolean | undefined>;
  /** What an account has, as read elsewhere. Records restored from a copy older than the log lack the latest. */
  readonly existing: (account: AccountKey) => Promise<readonly T[]>;
  /** The clock if the document store has none of its own: all processes then run on this machine. */
  readonly clock: Clock;
}) {
  const { documents, idOf, existing, clock } = deps;
  const quotas = await documents.open(deps.collection);
  /** Serialises the counting of an account: concurrent requests would only compete for its document. */
  const accounts = new SerialQueue();

  async function exists(item: Counted<T>, now: number): Promise<boolean> {
    return (await deps.exists(idOf(item))) ?? Date.parse(item.at) > now - UNFINISHED_MS;
  }

  return {
    /**
     * Counts one more that is about to be made.
     * @param make called at most once, if there may be one more
     * @param refuseOneMore a refusal with `retryAfter` does not depend on what the account has
     */
    async take(
      account: AccountKey,
      make: () => T | Promise<T>,
      refuseOneMore: (use: QuotaUse<T>) => Refusal | undefined,
    ): Promise<T | Refusal> {
      const now = (await documents.now()) ?? clock();
      const at = toTimestamp(now);
      let item: T | undefined;
      let outcome: T | Refusal | undefined;
      const count = async (stored: QuotaDocument<T> | undefined): Promise<QuotaDocument<T> | undefined> => {
        const recent = recentOf(stored?.recent ?? [], now);
        const counted = stored?.taken ?? [];
        const ids = new Set(counted.map(idOf));
        const uncounted = (await existing(account)).filter((item) => !ids.has(idOf(item)));
        let items = [...counted, ...uncounted.map((item) => ({ ...item, at }))];
        let refusal = refuseOneMore({ items, recent, now });
        if (refusal !== undefined && refusal.retryAfter === undefined) {
          const existing = await Promise.all(items.map((item) => exists(item, now)));
          items = items.filter((_, i) => existing[i]);
          refusal = refuseOneMore({ items, recent, now });
        }
        outcome = refusal;
        if (refusal !== undefined) return undefined;
        item ??= await make();
        outcome = item;
        return { taken: [...items, { ...item, at }], recent: [...recent.map(toTimestamp), at] };
      };
      await accounts.run(account, () => quotas.update(account, count));
      if (outcome === undefined) throw new Error(`Nothing was counted for ${account}`);
      return outcome;
    },

    /**
     * Stops counting one that was not made, or that the account no longer has. If that cannot be stored, the next lookup at the quota
     * finds out.
     */
    async release(account: AccountKey, id: string): Promise<void> {
      try {
        await quotas.update(account, (stored) => {
          const taken = stored?.taken.filter((item) => idOf(item) !== id) ?? [];
          return stored === undefined || taken.length === stored.taken.length ? undefined : { ...stored, taken };
        });
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    },
  };
}

/** Times in the future were noted before the clock was set back. */
const recentOf = (at: readonly Timestamp[], now: number): number[] =>
  at.map(Date.parse).filter((each) => Math.abs(now - each) < RECENT_MS);

/** Refuses one more than `max`. */
export const atMost =
  (max: number, details: string) =>
  ({ items }: QuotaUse<object>): Refusal | undefined =>
    items.length < max ? undefined : refuse('ValidationError', details);
