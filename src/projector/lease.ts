import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Documents } from '../document-store/document-store.ts';
import { isRunning, PLACE } from '../runtime/process-liveness.ts';
import { type Lease, THE_ONE } from '../read-models/projector-state.ts';

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
  const mine: Lease = { holder: randomUUID(), place: PLACE, pid: process.pid };
  holders.add(mine.holder);
  let seen: number | undefined;
  let seenSince = 0;
  while (!signal.aborted) {
    const there = await leases.get(THE_ONE);
    if (there === undefined) {
      if (await leases.insert(THE_ONE, mine)) return held(leases, mine, 1);
      continue;
    }
    if (there.version !== seen) {
      seen = there.version;
      seenSince = performance.now();
    }
    if (isDead(there.document) || performance.now() - seenSince >= leaseMs) {
      if (await leases.replace(THE_ONE, mine, there.version)) return held(leases, mine, there.version + 1);
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
      const renewed = await leases.replace(THE_ONE, mine, version);
      version += 1;
      return renewed;
    },
    async release() {
      holders.delete(mine.holder);
      await leases.delete(THE_ONE, version);
    },
  };
}

/** Whether the process that holds the lease is known to run no more. */
const isDead = ({ holder, place, pid }: Lease): boolean =>
  place === PLACE && (pid === process.pid ? !holders.has(holder) : !isRunning(pid));

/** Leases of this process: one that names it and is not among them is from an earlier process of the same number. */
const holders = new Set<string>();
