import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { AccountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import { isUnavailable } from '../runtime/unavailable.ts';

/** What one account has of a kind, such as its webhook registrations. */
export type QuotaDocument<T> = {
  /** Those that it has, including those about to be made. */
  readonly taken: readonly T[];
  /** When the latest were counted, including those that it no longer has. */
  readonly recent?: readonly Timestamp[];
};

/** What an account has when it asks for one more. */
type QuotaUse<T> = {
  readonly items: readonly T[];
  /** When the latest were made within {@link RECENT_MS}, those that it no longer has included. */
  readonly recent: readonly number[];
};

/**
 * How long one counts that does not exist yet, by the monotonic clock of the process that finds it missing: far longer than making it can
 * take.
 */
const UNFINISHED_MS = 10 * 60_000;
const RECENT_MS = 60_000;
/** Entries of the caches below. */
const CACHED = 10_000;

/**
 * Counts what each account has of a kind, across all processes. One is counted before it is made. Whether those counted exist is only
 * looked up when a quota is used up: ending one need not write the count, and a process may have died before it made one.
 */
export async function openAccountQuota<T extends object>(deps: {
  readonly documents: DocumentStore;
  /** One document per account. Never deleted: its version must not restart. */
  readonly collection: Collection<QuotaDocument<T>>;
  readonly idOf: (item: T) => string;
  /** Whether the account still has each of these; undefined if there is no trace of it, because it may be about to be made. */
  readonly exist: (items: readonly T[]) => Promise<readonly (boolean | undefined)[]>;
  /** What an account has, as read elsewhere. Records restored from a copy older than the log lack the latest. */
  readonly existing: (account: AccountKey) => Promise<readonly T[]>;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic?: (() => number) | undefined;
}) {
  const { idOf, exist, existing, monotonic = () => performance.now() } = deps;
  const quotas = await deps.documents.open(deps.collection);
  /** Serialises the counting of an account: concurrent requests would only compete for its document. */
  const accounts = new SerialQueue();
  /** Accounts of which this process has counted what exists. */
  const compared = createLruCache<AccountKey, true>(CACHED);
  const missingSince = createLruCache<string, number>(CACHED);

  function isUnfinished(id: string): boolean {
    const since = missingSince.get(id) ?? monotonic();
    missingSince.set(id, since);
    return monotonic() - since < UNFINISHED_MS;
  }

  async function withExisting(account: AccountKey, counted: readonly T[]): Promise<readonly T[]> {
    if (compared.has(account)) return counted;
    const ids = new Set(counted.map(idOf));
    return [...counted, ...(await existing(account)).filter((item) => !ids.has(idOf(item)))];
  }

  async function remaining(counted: readonly T[]): Promise<readonly T[]> {
    const found = await exist(counted);
    return counted.filter((item, i) => found[i] ?? isUnfinished(idOf(item)));
  }

  return {
    /**
     * Counts one more that is about to be made.
     * @param make called at most once, if there may be one more
     * @param refuseOneMore a refusal with `retryAfter` does not depend on what the account has
     * @param at now, in milliseconds since the epoch, if `refuseOneMore` looks at what is recent
     */
    async take(
      account: AccountKey,
      make: () => T | Promise<T>,
      refuseOneMore: (use: QuotaUse<T>) => Refusal | undefined,
      at?: number,
    ): Promise<T | Refusal> {
      let item: T | undefined;
      let outcome: T | Refusal | undefined;
      const count = async (stored: QuotaDocument<T> | undefined): Promise<QuotaDocument<T> | undefined> => {
        const recent = at === undefined ? [] : recentOf(stored?.recent ?? [], at);
        let items = await withExisting(account, stored?.taken ?? []);
        let refusal = refuseOneMore({ items, recent });
        if (refusal !== undefined && refusal.retryAfter === undefined) {
          items = await remaining(items);
          refusal = refuseOneMore({ items, recent });
        }
        outcome = refusal;
        if (refusal !== undefined) return undefined;
        item ??= await make();
        outcome = item;
        return {
          taken: [...items, item],
          ...defined({ recent: at === undefined ? undefined : [...recent, at].map(toTimestamp) }),
        };
      };
      await accounts.run(account, () => quotas.update(account, count));
      if (outcome === undefined) throw new Error(`Nothing was counted for ${account}`);
      if (outcome === item) compared.set(account, true);
      return outcome;
    },

    /**
     * Stops counting one that was not made, or that the account no longer has. If that cannot be stored, the next lookup at the quota
     * finds out.
     */
    async release(account: AccountKey, id: string): Promise<void> {
      const without = (stored: QuotaDocument<T> | undefined): QuotaDocument<T> | undefined => {
        const taken = stored?.taken.filter((item) => idOf(item) !== id) ?? [];
        return stored === undefined || taken.length === stored.taken.length ? undefined : { ...stored, taken };
      };
      try {
        await accounts.run(account, () => quotas.update(account, without));
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    },
  };
}

/** Times in the future were noted before the clock was set back. */
const recentOf = (at: readonly Timestamp[], now: number): number[] =>
  at.map(Date.parse).filter((each) => Math.abs(now - each) < RECENT_MS);

/** `exist` for a kind that is looked up one by one. */
export const eachOf =
  <T>(exists: (item: T) => Promise<boolean | undefined>) =>
  (items: readonly T[]): Promise<(boolean | undefined)[]> =>
    Promise.all(items.map(exists));

/** Refuses one more than `max`. */
export const atMost =
  (max: number, details: string) =>
  ({ items }: QuotaUse<object>): Refusal | undefined =>
    items.length < max ? undefined : refuse('ValidationError', details);
