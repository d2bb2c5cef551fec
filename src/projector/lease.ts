import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Documents } from '../document-store/document-store.ts';
import { type Lease, SINGLETON_KEY } from '../read-models/projector-state.ts';
import { isProcessAlive, PID_NAMESPACE } from '../runtime/process-liveness.ts';

export type HeldLease = {
  /** @returns false when somebody else has taken over */
  renew(): Promise<boolean>;
  release(): Promise<void>;
};

export type LeaseTimes = {
  /** How long a lease that is not renewed stands, in milliseconds. */
  readonly leaseMs: number;
  /** Between two renewals, and between two looks of those who wait. */
  readonly tickMs: number;
};

/**
 * Waits until this process may project. No clock is compared with another machine's: a lease has run out when it was seen
 * not to change for `leaseMs`, or when its process is known to be dead. It only keeps two projectors from doing the same
 * work; what keeps a stale one from doing harm is the checkpoint (compare-and-set).
 * @returns undefined when `signal` was aborted first
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

/** Whether the process that holds the lease is known to run no more. */
const isDead = ({ holder, pidNamespace, pid }: Lease): boolean =>
  pidNamespace === PID_NAMESPACE && (pid === process.pid ? !holders.has(holder) : !isProcessAlive(pid));

/** Leases of this process: one that names it and is not among them is from an earlier process of the same number. */
const holders = new Set<string>();
