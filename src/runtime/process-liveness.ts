import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process to other processes on the same machine and store. */
export type ProcessIdentity = {
  /** The machine since it started and, on Linux, the PID namespace: each container has its own. */
  readonly pidNamespace: string;
  readonly pid: number;
  /** Distinguishes processes that reuse a pid; absent without /proc. */
  readonly startedAt?: string;
};

const startedAt = startOf(process.pid);

/**
 * Identifies this boot of this machine. Cloned machines and containers may share a host name, and machines restored from one snapshot share
 * even the boot id; `PLACE` distinguishes those.
 */
const MACHINE = [process.env.PLACE?.trim() ?? '', bootId() ?? hostname()].join(' ').trim();

export const THIS_PROCESS: ProcessIdentity = {
  pidNamespace: `${MACHINE} ${namespaceOfThis()}`,
  pid: process.pid,
  ...(startedAt !== undefined && { startedAt }),
};

const isThisProcess = ({ pidNamespace, pid, startedAt: start }: ProcessIdentity): boolean =>
  pidNamespace === THIS_PROCESS.pidNamespace && pid === process.pid && start === startedAt;

/** Whether a process has certainly ended. False if unknown, as for a process on another machine or in another container. */
export function isKnownDead(identity: ProcessIdentity): boolean {
  const { pidNamespace, pid } = identity;
  if (pidNamespace !== THIS_PROCESS.pidNamespace || isThisProcess(identity)) return false;
  if (!isRunning(pid)) return true;
  const start = startOf(pid);
  if (start === undefined) return false;
  return identity.startedAt !== undefined && identity.startedAt !== start;
}

/** The random id that Linux generates whenever the machine starts (random(4)); undefined on other systems. */
function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

function namespaceOfThis(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** When a process started, in clock ticks since the machine did: field 22 of /proc/[pid]/stat (proc_pid_stat(5)). */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the program name in brackets, may contain any character.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[22 - 3];
  } catch {
    return undefined;
  }
}
