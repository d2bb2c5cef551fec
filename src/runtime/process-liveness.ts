import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Identifies the machine and, on Linux, the PID namespace of this process. Processes with the same value can check on each
 * other with {@link isProcessAlive}; each container has its own namespace.
 */
export const PID_NAMESPACE = `${hostname()} ${processNamespace()}`;

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** Whether a process in this PID namespace is running. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
