import { readFileSync, renameSync } from 'node:fs';

/**
 * For tests. `FAULT_POINT` names a file that holds `<name>|<thread or process>`. The thread or process that reaches this step
 * renames the file to `<file>.met` and ends. Writing the file again arms it again.
 */
const file = process.env.FAULT_POINT;

/** Names a step at which a test may end this thread or process. Does nothing otherwise. */
export function faultPoint(name: string): void {
  if (file === undefined) return;
  const what = takeFault(file, name);
  if (what === undefined) return;
  if (what === 'process') process.kill(process.pid, 'SIGKILL');
  process.exit(1);
}

/** @returns what ends here, thread or process; undefined if the file names another step, or another thread has taken it */
function takeFault(file: string, name: string): string | undefined {
  try {
    const [point, what] = readFileSync(file, 'utf8').split('|');
    if (point !== name) return undefined;
    renameSync(file, `${file}.met`);
    return what;
  } catch {
    return undefined;
  }
}
