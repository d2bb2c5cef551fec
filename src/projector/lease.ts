import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Documents } from '../document-store/document-store.ts';
import { type Lease, SINGLETON_KEY } from '../read-models/projector-state.ts';
import { isProcessAlive, PID_NAMESPACE } from '../runtime/process-liveness.ts';

export type HeldLease = {
  /** @returns false if another projector has taken over */
  renew(): Promise<boolean>;
  release(): Promise<void>;
};

export type LeaseTimes = {
  /** How long a lease lasts without renewal, in milliseconds. */
  readonly leaseMs: number;
  /** Between two renewals, and between two checks while waiting, in milliseconds. */
  readonly tickMs: number;
};

/**
 * Waits until this process may project. Clocks of different machines are never compared: a lease has expired if it was
 * observed unchanged for `leaseMs`, or if its process is known to be dead. It only avoids duplicate work; a stale projector
 * is kept from doing harm by the checkpoint's compare-and-set (docs/decisions/leases.md).
 * @returns undefined if `signal` is aborted first
 */
export async function acquireLease(
  leases: Documents<Lease>,
  { leaseMs, tickMs }: LeaseTimes,
  signal: AbortSignal,
): Promise<HeldLease | undefined> {
  const mine: Lease = { holder: randomUUID(), pidNamespace: PID_NAMESPACE, pid: process.pid };
  holders.add(mine.holder);
  let seen: number | undefined;
  let seenSince = 0;
  while (!signal.aborted) {
    const there = await leases.get(SINGLETON_KEY);
    if (there === undefined) {
      if (await leases.insert(SINGLETON_KEY, mine)) return held(leases, mine, 1);
      continue;
    }
    if (there.version !== seen) {
      seen = there.version;
      seenSince = performance.now();
    }
    if (isDead(there.document) || performance.now() - seenSince >= leaseMs) {
      if (await leases.replace(SINGLETON_KEY, mine, there.version)) return held(leases, mine, there.version + 1);
      continue;
    }
    await delay(tickMs, undefined, { signal }).catch(() => {});
  }
  holders.delete(mine.holder);
  return undefined;
}

function held(leases: Documents<Lease>, mine: Lease, acquired: number): HeldLease {
  let version = acquired;
  return {
    async renew() {
      const renewed = await leases.replace(SINGLETON_KEY, mine, version);
      version += 1;
      return renewed;
    },
    async release() {
      holders.delete(mine.holder);
      await leases.delete(SINGLETON_KEY, version);
    },
  };
}

/** Whether the process that holds the lease is known to have ended. */
const isDead = ({ holder, pidNamespace, pid }: Lease): boolean =>
  pidNamespace === PID_NAMESPACE && (pid === process.pid ? !holders.has(holder) : !isProcessAlive(pid));

/** Holders in this process. A lease with our PID but another holder belongs to an earlier process with the same PID. */
const holders = new Set<string>();
