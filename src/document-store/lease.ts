import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../runtime/clock.ts';
import { isKnownDead, type ProcessIdentity, THIS_PROCESS } from '../runtime/process-liveness.ts';
import type { Collection, DocumentStore, Stored } from './document-store.ts';

/** A lease that one process at a time can hold, renewed until it is released (docs/decisions/leases.md). */
export type Lease = {
  /**
   * False once another process holds it, or may hold it because it could not be renewed in time. Check it before every step that
   * only the holder may take; a step that is running when the lease is lost has to be harmless.
   */
  isHeld(): boolean;
  /** Releases it. Anyone can then acquire it immediately. */
  release(): Promise<void>;
};

export type Leases = {
  /** Acquires a lease without waiting. @returns undefined while another process holds it */
  tryAcquire(name: string): Promise<Lease | undefined>;
  /**
   * Acquires a lease as soon as nobody holds it; checks every `pollMs`.
   * @throws the signal's reason if it is aborted first
   */
  acquire(name: string, options: { readonly pollMs: number; readonly signal?: AbortSignal }): Promise<Lease>;
};

type LeaseDocument = Partial<ProcessIdentity> & {
  /** Unique to the current holder; absent if nobody holds it. */
  readonly holder?: string;
  /** The holder of a webhook's lease in earlier releases; empty if nobody held it. */
  readonly owner?: string;
  /** How long it is valid without renewal. A duration, not a moment, so that it does not depend on whose clock is right. */
  readonly durationMs?: number;
  /** When the document of an unused lease may be removed (ISO 8601, UTC). */
  readonly expiresAt: string;
};

/** How long the document of an unused lease is kept: longer than any process that might still believe it holds it. */
const RETENTION_MS = 60 * 24 * 3_600_000;
/** Renewals within the duration of a lease, so that a process that stalls for a moment keeps it. */
const RENEWALS_PER_DURATION = 5;

/**
 * Named leases in a collection of their own. Clocks of different processes are never compared: a lease has expired once this
 * process has seen its document unchanged for the lease's duration, by its own monotonic clock, or once its holder is known to be
 * dead. A stale holder cannot write to the lease, because the version has moved on.
 */
export async function openLeases(deps: {
  readonly documents: DocumentStore;
  readonly collection: string;
  /** How long a lease of this process is valid without renewal. */
  readonly durationMs: number;
  /** Only determines when the documents of unused leases may be removed. */
  readonly clock: Clock;
  /** How many leases of other processes are watched at a time. Default 10,000. */
  readonly maxWatched?: number;
}): Promise<Leases> {
  const { documents, durationMs, clock, maxWatched = 10_000 } = deps;
  const leases = await documents.open(leaseCollection(deps.collection));
  const watch = createWatch(maxWatched);

  const free = (): LeaseDocument => ({ expiresAt: new Date(clock() + RETENTION_MS).toISOString() });

  /** @param acquiredAt when the write of the document started, before which no other process can have seen it */
  function hold(name: string, holder: string, acquiredVersion: number, acquiredAt: number): Lease {
    let version = acquiredVersion;
    let renewedAt = acquiredAt;
    let isOurs = true;
    const ending = new AbortController();

    async function write(document: LeaseDocument): Promise<void> {
      while (isOurs) {
        const startedAt = performance.now();
        if (await leases.replace(name, document, version)) {
          version += 1;
          renewedAt = startedAt;
          return;
        }
        // A write whose response was lost may have been applied.
        const stored = await leases.get(name);
        isOurs = stored?.document.holder === holder;
        version = stored?.version ?? version;
      }
    }

    async function keepRenewing(): Promise<void> {
      const { signal } = ending;
      while (isOurs) {
        await delay(durationMs / RENEWALS_PER_DURATION, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
        // If one fails, the next is still in time before the lease expires.
        await write(heldBy(holder)).catch(() => {});
      }
    }
    const renewing = keepRenewing();

    return {
      isHeld: () => isOurs && !ending.signal.aborted && performance.now() - renewedAt < durationMs,
      async release() {
        ending.abort();
        await renewing;
        // Not deleted: the version must never restart, or a stale holder could mistake the lease for its own.
        await write(free());
      },
    };
  }

  const heldBy = (holder: string): LeaseDocument => ({ ...THIS_PROCESS, ...free(), holder, durationMs });

  function isAvailable({ key, version, document }: Stored<LeaseDocument>): boolean {
    const { holder, owner = '', pidNamespace, pid, startedAt } = document;
    if ((holder ?? owner) === '') return true;
    if (pidNamespace !== undefined && pid !== undefined) {
      const identity = { pidNamespace, pid, ...(startedAt !== undefined && { startedAt }) };
      if (isKnownDead(identity)) return true;
    }
    return watch.unchangedFor(key, version) >= (document.durationMs ?? durationMs);
  }

  async function tryAcquire(name: string): Promise<Lease | undefined> {
    const stored = await leases.get(name);
    if (stored !== undefined && !isAvailable(stored)) return undefined;
    watch.forget(name);
    const holder = randomUUID();
    const writeStartedAt = performance.now();
    const acquired =
      stored === undefined
        ? await leases.insert(name, heldBy(holder))
        : await leases.replace(name, heldBy(holder), stored.version);
    return acquired ? hold(name, holder, (stored?.version ?? 0) + 1, writeStartedAt) : undefined;
  }

  return {
    tryAcquire,
    async acquire(name, { pollMs, signal }) {
      for (;;) {
        signal?.throwIfAborted();
        const lease = await tryAcquire(name);
        if (lease !== undefined) return lease;
        await delay(pollMs, undefined, signal && { signal }).catch(() => {});
      }
    },
  };
}

/**
 * Stored with the read models: where a power failure may lose the last writes, it also ends every process that held a lease.
 */
const leaseCollection = (name: string): Collection<LeaseDocument> => ({
  name,
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
});

/** A lease that has not been checked for this long may be evicted for another. */
const EVICTABLE_AFTER_MS = 10 * 60_000;

/**
 * Tracks since when leases have been seen at their current versions, from one check to the next. While `max` are being watched,
 * further ones have to wait until some of them have been acquired: if leases evicted each other, none would ever be seen to
 * expire.
 */
function createWatch(max: number) {
  /** Least recently checked first. */
  const watched = new Map<string, { readonly version: number; readonly since: number; readonly checkedAt: number }>();

  function hasRoom(now: number): boolean {
    if (watched.size < max) return true;
    for (const [name, { checkedAt }] of watched) {
      if (now - checkedAt < EVICTABLE_AFTER_MS) return false;
      watched.delete(name);
      return true;
    }
    return false;
  }

  return {
    /** Milliseconds. */
    unchangedFor(name: string, version: number): number {
      const now = performance.now();
      const before = watched.get(name);
      const since = before?.version === version ? before.since : now;
      watched.delete(name);
      if (before !== undefined || hasRoom(now)) watched.set(name, { version, since, checkedAt: now });
      return now - since;
    },
    forget: (name: string): void => void watched.delete(name),
  };
}
