import type { Collection, DocumentStore, DocumentStoreOperations } from '../document-store/document-store.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import type { Clock } from '../runtime/clock.ts';

/** What commands add to the log. Bytes are those of the data of events, in JSON. */
export type Use = { readonly events: number; readonly bytes: number };

/** What the processes have reserved for an account on a day, in UTC. */
type DailyUse = Use & { readonly day: string };

/** One document per account, written once for each part of a quota. */
const collection: Collection<DailyUse> = { name: 'dailyUse', kind: 'record', indexes: [] };

/** What a process may still use of what it has reserved, until a moment of its own monotonic clock. */
type Reserved = {
  events: number;
  bytes: number;
  readonly until: number;
  /** The part of the quota that it has reserved last. */
  readonly share: number;
};

export type DailyUses = Awaited<ReturnType<typeof openDailyUses>>;

const DAY_MS = 24 * 3_600_000;
/**
 * The parts of a quota that a process reserves, each twice the one before. What it has left of one when it ends is lost for the day, so
 * a process that has written little loses little.
 */
const [FIRST_SHARE, LARGEST_SHARE] = [1 / 10_000, 1 / 100];
/** Accounts of which a process remembers what it has reserved. */
const REMEMBERED = 10_000;

/** Limits what one account may write to the log in a day (UTC), across all processes (docs/decisions/accounts.md). */
export async function openDailyUses(deps: {
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  /** The clock if the document store has none of its own: all processes then run on this machine. */
  readonly clock: Clock;
  readonly limits: Use;
}) {
  const { documents, clock, limits } = deps;
  const uses = await documents.open(collection);
  const reserved = createLruCache<AccountKey, Reserved>(REMEMBERED);
  /** Serialises the reservations of an account: concurrent ones would only compete for its document. */
  const accounts = new SerialQueue();

  function takeReserved(key: AccountKey, { events, bytes }: Use): boolean {
    const mine = reserved.get(key);
    if (mine === undefined || mine.events < events || mine.bytes < bytes || performance.now() >= mine.until)
      return false;
    mine.events -= events;
    mine.bytes -= bytes;
    return true;
  }

  async function reserve(key: AccountKey, wanted: Use): Promise<Refusal | undefined> {
    if (takeReserved(key, wanted)) return undefined;
    const at = performance.now();
    const now = (await documents.now()) ?? clock();
    const leftMs = DAY_MS - (now % DAY_MS);
    const day = toTimestamp(now).slice(0, 10);
    const last = reserved.get(key);
    const before = last !== undefined && at < last.until ? last : undefined;
    const share = before === undefined ? FIRST_SHARE : Math.min(2 * before.share, LARGEST_SHARE);
    let part: Use | undefined;
    await uses.update(key, (stored) => {
      const used = stored?.day === day ? stored : { events: 0, bytes: 0 };
      const granted = (of: keyof Use) =>
        Math.min(limits[of] - used[of], Math.max(wanted[of], Math.ceil(limits[of] * share)));
      const next = { events: granted('events'), bytes: granted('bytes') };
      part = next.events < wanted.events || next.bytes < wanted.bytes ? undefined : next;
      return part && { day, events: used.events + part.events, bytes: used.bytes + part.bytes };
    });
    if (part === undefined) return usedUp(now + leftMs, leftMs);
    // What is left of the last part goes on, unless its day is over.
    reserved.set(key, {
      events: (before?.events ?? 0) + part.events - wanted.events,
      bytes: (before?.bytes ?? 0) + part.bytes - wanted.bytes,
      until: at + leftMs,
      share,
    });
    return undefined;
  }

  return {
    /** Counts what an account is about to write. Refuses it if that is more than the account has left of the day. */
    async take(account: Account, use: Use): Promise<Refusal | undefined> {
      const key = accountKey(account);
      return takeReserved(key, use) ? undefined : accounts.run(key, () => reserve(key, use));
    },
  };
}

const usedUp = (until: number, leftMs: number): Refusal => ({
  ...refuse(
    'ValidationError',
    `This account has written as much as it may in a day. It can go on at ${toTimestamp(until).slice(0, 16).replace('T', ' ')} UTC.`,
  ),
  retryAfter: Math.ceil(leftMs / 1_000),
});
