import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Heartbeats } from './heartbeats.ts';

/** A lease, held by at most one process until it is released or the holder falls silent (docs/decisions/leases.md). */
export type Lease = {
  /**
   * False once another process holds it, or may hold it because this one did not beat in time. Check it before every step reserved
   * for the holder. A step that is running when the lease is lost must be harmless.
   */
  isHeld(): boolean;
  /** Releases it, so that any process can acquire it at once. */
  release(): Promise<void>;
};

export type Leases = {
  /** Acquires a lease without waiting. @returns undefined while another process holds it */
  tryAcquire(name: string): Promise<Lease | undefined>;
  /** Whether any process holds the lease. */
  isHeld(name: string): Promise<boolean>;
  /**
   * Acquires a lease as soon as it is free; checks every `pollMs`.
   * @throws the signal's reason if it is aborted first
   */
  acquire(name: string, options: { readonly pollMs: number; readonly signal?: AbortSignal }): Promise<Lease>;
};

type LeaseDocument = {
  /** The heartbeat id of the holder; absent if the lease is free. */
  readonly session?: string;
  /** How long the holder may be silent before others take the lease, in milliseconds. */
  readonly durationMs?: number;
  /** When the document of an unused lease may be removed (ISO 8601, UTC). */
  readonly expiresAt: string;
};

/** How long the document of an unused lease is kept: longer than any stale holder can run. */
const RETENTION_MS = 60 * 24 * 3_600_000;

export type LeaseDeps = {
  readonly documents: DocumentStore;
  readonly heartbeats: Heartbeats<object>;
  readonly collection: string;
  /** How long this process may be silent before others take a lease of this collection, in milliseconds. */
  readonly durationMs: number;
  /** Only determines when the documents of unused leases may be removed. */
  readonly clock: Clock;
};

/**
 * Named leases in a collection of their own. A process keeps a lease while its heartbeat continues; holding one costs no writes. A
 * stale holder cannot write to the lease, because the version has moved on.
 */
export async function openLeases(deps: LeaseDeps): Promise<Leases> {
  const { documents, heartbeats, durationMs, clock } = deps;
  const leases = await documents.open(leaseCollection(deps.collection));
  const held = new Map<string, { lose(): void; finish(): Promise<void> }>();

  const free = (): LeaseDocument => ({ expiresAt: new Date(clock() + RETENTION_MS).toISOString() });
  const ours = (): LeaseDocument => ({ ...free(), session: heartbeats.session, durationMs });

  // Other processes may have taken leases while this one was silent. Release those that no process has taken: otherwise the others would
  // wait for this process, which beats again.
  heartbeats.onBeat((silentMs) => {
    for (const lease of held.values()) {
      if (silentMs >= durationMs) lease.lose();
      lease.finish().catch(() => {});
    }
  });

  function hold(name: string, version: number): Lease {
    let isOurs = true;
    let releasing: Promise<void> | undefined;
    const entry = {
      lose() {
        isOurs = false;
      },
      /** Frees a lost or released lease. Retried at the next beat after a failure. */
      async finish() {
        if (isOurs) return;
        releasing ??= (async () => {
          // Not deleted, because a restarted version could match that of a stale holder.
          await leases.update(name, (_, now) => (now === version ? free() : undefined));
          held.delete(name);
        })().finally(() => {
          releasing = undefined;
        });
        await releasing;
      },
    };
    held.set(name, entry);
    return {
      isHeld: () => isOurs && heartbeats.sinceLastBeat() < durationMs,
      async release() {
        isOurs = false;
        await entry.finish();
      },
    };
  }

  async function isAvailable(stored: Stored<LeaseDocument>): Promise<boolean> {
    const { session, durationMs: duration = durationMs } = stored.document;
    if (session === undefined) return true;
    // An earlier attempt of this process stored it, but lost the response.
    if (session === heartbeats.session) return !held.has(stored.key);
    return (await heartbeats.silentFor(session)) >= duration;
  }

  async function tryAcquire(name: string): Promise<Lease | undefined> {
    const stored = await leases.get(name);
    if (stored !== undefined && !(await isAvailable(stored))) return undefined;
    if (heartbeats.sinceLastBeat() >= durationMs) return undefined;
    const seen = stored?.version ?? 0;
    const updated = await leases.update(name, (_, now) => (now === seen ? ours() : undefined), { stored });
    return updated.isChanged ? hold(name, updated.stored.version) : undefined;
  }

  return {
    tryAcquire,
    async isHeld(name) {
      const { session, durationMs: duration = durationMs } = (await leases.get(name))?.document ?? {};
      return session !== undefined && (await heartbeats.silentFor(session)) < duration;
    },
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

/** Stored with the read models: a power failure that loses the last writes also ends every process that held a lease. */
const leaseCollection = (name: string): Collection<LeaseDocument> => ({
  name,
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
});

/** The process that holds the lease, or held it when it ended; undefined if the lease is free. */
export async function readHolder(
  documents: Pick<DocumentStore, 'open'>,
  collection: string,
  name: string,
): Promise<string | undefined> {
  return (await (await documents.open(leaseCollection(collection))).get(name))?.document.session;
}
