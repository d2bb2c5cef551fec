import { readFileSync, renameSync } from 'node:fs';

/**
 * For tests: a file that `FAULT_POINT` names holds `<name>|<thread or process>`: the thread or the process that meets that step ends
 * there, once, because it renames the file to `<file>.met` first. The file may be written again.
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

/** @returns what ends at the step; nothing if the file names another one, or was taken by another thread */
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
