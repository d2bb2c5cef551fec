import * as original from '../../src/leases/lease.ts';
import { currentProcess } from './process.ts';

export type { Lease, Leases } from '../../src/leases/lease.ts';

/** {@link original.openLeases}, which tells the simulation of every lease. */
export const openLeases: typeof original.openLeases = async (deps) => {
  const process = currentProcess();
  const leases = await original.openLeases(deps);
  const tryAcquire: typeof leases.tryAcquire = async (name) => {
    const lease = await leases.tryAcquire(name);
    if (lease !== undefined) process.acquired(`${deps.collection} ${name}`, lease);
    return lease;
  };
  return { ...leases, tryAcquire };
};
