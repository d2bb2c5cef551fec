import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Heartbeats } from './heartbeats.ts';
import {
  evolve,
  isHeld,
  type LeaseDocument,
  type LeaseEvent,
  type LeaseState,
  mayAcquire,
  mustFree,
  NONE,
} from './lease-state.ts';

/** A lease, held by at most one process until it is released or the holder falls silent (docs/decisions/processes.md#leases). */
export type Lease = {
  /**
   * False once another process holds it, or may hold it because this one did not beat in time. Check it before every step reserved
   * for the holder. A step that is running when the lease is lost must be harmless.
   */
  isHeld(): boolean;
  /** Releases it, so that any process can acquire it at once. */
  release(): Promise<void>;
};

export type Leases = Awaited<ReturnType<typeof openLeases>>;

/** How long the document of an unused lease is kept: longer than any stale holder can run. */
const RETENTION_MS = 60 * 24 * 3_600_000;

/**
 * Named leases in a collection of their own. A process keeps a lease while its heartbeat continues; holding one costs no writes. A
 * stale holder cannot write to the lease, because the version has moved on.
 */
export async function openLeases(deps: {
  readonly documents: DocumentStore;
  readonly heartbeats: Heartbeats<object>;
  readonly collection: string;
  /** How long this process may be silent before others take a lease of this collection, in milliseconds. */
  readonly durationMs: number;
  /** Only determines when the documents of unused leases may be removed. */
  readonly clock: Clock;
}) {
  const { documents, heartbeats, durationMs, clock } = deps;
  const { session } = heartbeats;
  // Stored with the read models: a power failure that loses the last writes also ends every process that held a lease.
  const collection: Collection<LeaseDocument> = {
    name: deps.collection,
    kind: 'readModel',
    ttl: 'expiresAt',
    indexes: [],
  };
  const leases = await documents.open(collection);
  const states = new Map<string, LeaseState>();
  const frees = new SerialQueue();

  const stateOf = (name: string): LeaseState => states.get(name) ?? NONE;
  const unheld = (): LeaseDocument => ({ expiresAt: new Date(clock() + RETENTION_MS).toISOString() });

  function apply(name: string, event: LeaseEvent): void {
    const next = evolve(stateOf(name), event);
    if (next.status === 'none') states.delete(name);
    else states.set(name, next);
  }

  /** Frees a lease that has ended: otherwise others would wait for this process, which still beats. */
  const free = (name: string): Promise<void> =>
    frees.run(name, async () => {
      const state = stateOf(name);
      if (state.status !== 'ended') return;
      // Not deleted, because a restarted version could match that of a stale holder.
      await leases.update(name, (document = unheld(), version) =>
        mustFree(state, { document, version }, session) ? unheld() : undefined,
      );
      apply(name, { type: 'Freed', version: state.version });
    });

  heartbeats.onBeat((silentMs) => {
    for (const name of [...states.keys()]) {
      apply(name, { type: 'Beaten', silentMs, durationMs });
      // Tried again at the next beat.
      free(name).catch(() => {});
    }
  });

  const isSilent = async ({ session: holder, durationMs: mayBeSilentMs = durationMs }: Partial<LeaseDocument>) =>
    holder !== undefined && (await heartbeats.isSilent(holder, mayBeSilentMs));

  /** Acquires a lease without waiting. @returns undefined while another process holds it */
  async function tryAcquire(name: string): Promise<Lease | undefined> {
    const stored = await leases.get(name);
    const { document = {}, version: before = 0 } = stored ?? {};
    if (!mayAcquire(stateOf(name), document, await isSilent(document))) return undefined;
    const version = before + 1;
    const ours: LeaseDocument = { ...unheld(), session, durationMs };
    apply(name, { type: 'Requested', version });
    try {
      const { isChanged } = await leases.update(name, (_, now) => (now === before ? ours : undefined), { stored });
      apply(name, { type: isChanged ? 'Acquired' : 'Refused' });
    } catch (error) {
      apply(name, { type: 'Unanswered' });
      throw error;
    }
    const lease: Lease = {
      isHeld: () => isHeld(stateOf(name), version, heartbeats.sinceLastBeat(), durationMs),
      async release() {
        apply(name, { type: 'Released', version });
        await free(name);
      },
    };
    if (lease.isHeld()) return lease;
    await lease.release();
    return undefined;
  }

  return {
    tryAcquire,
    /** Whether any process holds the lease. */
    async isHeld(name: string): Promise<boolean> {
      const { document } = (await leases.get(name)) ?? {};
      return document?.session !== undefined && !(await isSilent(document));
    },
    /**
     * Acquires a lease as soon as it is free; checks every `pollMs`.
     * @throws the signal's reason if it is aborted first
     */
    async acquire(
      name: string,
      { pollMs, signal }: { readonly pollMs: number; readonly signal?: AbortSignal },
    ): Promise<Lease> {
      for (;;) {
        signal?.throwIfAborted();
        const lease = await tryAcquire(name);
        if (lease !== undefined) return lease;
        await delay(pollMs, undefined, signal && { signal }).catch(() => {});
      }
    },
  };
}
