import { closeSync, openSync } from 'node:fs';

/**
 * For tests: `FAULT_POINT=<name>|<thread or process>|<file>` ends the thread or kills the process at a named step, once: the file, which
 * must not exist, remembers that.
 */
const [point, what, file] = process.env.FAULT_POINT?.split('|') ?? [];

/** Names a step at which a test may end this thread or process. Does nothing otherwise. */
export function faultPoint(name: string): void {
  if (name !== point || file === undefined) return;
  try {
    closeSync(openSync(file, 'wx'));
  } catch {
    return;
  }
  if (what === 'process') process.kill(process.pid, 'SIGKILL');
  process.exit(1);
}
