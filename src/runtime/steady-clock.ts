import { readFileSync } from 'node:fs';
import { BOOT_ID } from './machine.ts';

/** A monotonic clock that cannot be set. Where the system supports it, it includes the time that the machine sleeps. */
export type SteadyClock = {
  /** Milliseconds since an arbitrary moment. */
  now(): number;
  /** Identifies that moment, so that processes can compare their readings. Undefined if they cannot. */
  readonly since: string | undefined;
};

/**
 * The time since the machine was started (proc_uptime(5)). Some containers see the time since their own start instead, under the
 * boot id of the machine; it is then behind the monotonic clock, and only this process can use it.
 */
export const machineTime: SteadyClock = (() => {
  const uptime = uptimeMs();
  if (uptime === undefined) return { now: () => performance.now(), since: undefined };
  const isOfMachine = uptime >= Number(process.hrtime.bigint() / 1_000_000n) - 1_000;
  return { now: () => uptimeMs() ?? Number.NaN, since: isOfMachine ? BOOT_ID : undefined };
})();

function uptimeMs(): number | undefined {
  try {
    const [seconds] = readFileSync('/proc/uptime', 'utf8').split(' ', 1);
    return Number(seconds) * 1_000;
  } catch {
    return undefined;
  }
}
