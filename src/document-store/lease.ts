import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../runtime/clock.ts';
import { isKnownDead, type ProcessIdentity, THIS_PROCESS } from '../runtime/process-liveness.ts';
import type { Collection, DocumentStore, Stored } from './document-store.ts';

/** A right that one process has at a time, kept up until it is given back (docs/decisions/leases.md). */
export type Lease = {
  /**
   * False once another process has it, or may have it because it could not be renewed in time. To be asked before each step
   * that only the holder may take; a step under way when it is lost has to be harmless.
   */
  isHeld(): boolean;
  /** Gives it back. Afterwards anyone may have it at once. */
  release(): Promise<void>;
};

export type Leases = {
  /** Takes a lease without waiting. @returns undefined while another process holds it */
  tryAcquire(name: string): Promise<Lease | undefined>;
  /**
   * Takes a lease as soon as nobody holds it; looks every `lookEveryMs`.
   * @throws the signal's reason when it is aborted first
   */
  acquire(name: string, options: { readonly lookEveryMs: number; readonly signal?: AbortSignal }): Promise<Lease>;
};

type LeaseDocument = Partial<ProcessIdentity> & {
  /** Unique to the one that holds it; absent: nobody does. */
  readonly holder?: string;
  /** What earlier releases called the holder of a webhook's lease; empty: nobody. */
  readonly owner?: string;
  /** For how long it stands when it is not renewed. A length of time, not a moment: every machine knows how long it takes. */
  readonly durationMs?: number;
  /** When a lease that nobody uses any more may be forgotten (ISO 8601, UTC). */
  readonly expiresAt: string;
};

/** Long after any process that may still take a lease for its own has ended. */
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;
/** A lease is renewed so often in the time for which it stands, so that a process that is slow for a while keeps it. */
const RENEWALS = 5;

/**
 * Named leases in a collection of their own. No clock is compared with another process's: a lease has run out when its document
 * was seen not to change for as long as it stands, by this process's monotonic clock, or when the process that holds it is known
 * to be dead. What a stale holder writes to the lease fails, because its version has moved on.
 */
export async function openLeases(deps: {
  readonly documents: DocumentStore;
  readonly collection: string;
  /** How long a lease of this process stands when it is not renewed. */
  readonly durationMs: number;
  /** Says when a lease that nobody uses any more may be forgotten, and nothing else. */
  readonly clock: Clock;
  /** How many leases of others are watched at the same time. Default 10,000. */
  readonly maxWatched?: number;
}): Promise<Leases> {
  const { documents, durationMs, clock, maxWatched = 10_000 } = deps;
  const leases = await documents.open(leaseCollection(deps.collection));
  const watch = createWatch(maxWatched);

  const free = (): LeaseDocument => ({ expiresAt: new Date(clock() + FORGET_AFTER_MS).toISOString() });

  /** @param acquiredAt before the document was written: others have seen it since then at the earliest */
  function hold(name: string, holder: string, acquiredVersion: number, acquiredAt: number): Lease {
    let version = acquiredVersion;
    let renewedAt = acquiredAt;
    let isOurs = true;
    const ending = new AbortController();

    async function write(document: LeaseDocument): Promise<void> {
      while (isOurs) {
        const began = performance.now();
        if (await leases.replace(name, document, version)) {
          version += 1;
          renewedAt = began;
          return;
        }
        // A write whose answer was lost may have been made all the same.
        const there = await leases.get(name);
        isOurs = there?.document.holder === holder;
        version = there?.version ?? version;
      }
    }

    async function keepRenewing(): Promise<void> {
      const { signal } = ending;
      while (isOurs) {
        await delay(durationMs / RENEWALS, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
        // One that fails is repeated by the next, in time before the lease runs out.
        await write(heldBy(holder)).catch(() => {});
      }
    }
    const renewing = keepRenewing();

    return {
      isHeld: () => isOurs && !ending.signal.aborted && performance.now() - renewedAt < durationMs,
      async release() {
        ending.abort();
        await renewing;
        // Not deleted: its version must never start again, or a holder long asleep could take it for its own.
        await write(free());
      },
    };
  }

  const heldBy = (holder: string): LeaseDocument => ({ ...THIS_PROCESS, ...free(), holder, durationMs });

  function mayBeTaken({ key, version, document }: Stored<LeaseDocument>): boolean {
    const { holder, owner = '', pidNamespace, pid, startedAt } = document;
    if ((holder ?? owner) === '') return true;
    if (pidNamespace !== undefined && pid !== undefined) {
      const identity = { pidNamespace, pid, ...(startedAt !== undefined && { startedAt }) };
      if (isKnownDead(identity)) return true;
    }
    return watch.unchangedFor(key, version) >= (document.durationMs ?? durationMs);
  }

  async function tryAcquire(name: string): Promise<Lease | undefined> {
    const there = await leases.get(name);
    if (there !== undefined && !mayBeTaken(there)) return undefined;
    watch.forget(name);
    const holder = randomUUID();
    const began = performance.now();
    const taken =
      there === undefined
        ? await leases.insert(name, heldBy(holder))
        : await leases.replace(name, heldBy(holder), there.version);
    return taken ? hold(name, holder, (there?.version ?? 0) + 1, began) : undefined;
  }

  return {
    tryAcquire,
    async acquire(name, { lookEveryMs, signal }) {
      for (;;) {
        signal?.throwIfAborted();
        const lease = await tryAcquire(name);
        if (lease !== undefined) return lease;
        await delay(lookEveryMs, undefined, signal && { signal }).catch(() => {});
      }
    },
  };
}

/**
 * Kept with the read models: on an engine that may lose its last writes in a power failure, every process that held a lease is
 * gone then, too.
 */
const leaseCollection = (name: string): Collection<LeaseDocument> => ({
  name,
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
});

/** A lease that nobody has looked at for so long is no longer watched, where another needs the room. */
const UNWATCHED_AFTER_MS = 10 * 60_000;

/**
 * Remembers since when leases have been seen at the version that they have, from one look to the next. When as many are watched
 * as may be, further ones are watched once some of them have been taken over: evicting one for another would make sure that
 * neither ever is.
 */
function createWatch(max: number) {
  /** The one that was looked at least recently comes first. */
  const watched = new Map<string, { readonly version: number; readonly since: number; readonly lookedAt: number }>();

  function hasRoom(now: number): boolean {
    if (watched.size < max) return true;
    for (const [name, { lookedAt }] of watched) {
      if (now - lookedAt < UNWATCHED_AFTER_MS) return false;
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
      if (before !== undefined || hasRoom(now)) watched.set(name, { version, since, lookedAt: now });
      return now - since;
    },
    forget: (name: string): void => void watched.delete(name),
  };
}
