import { createEstimate, timeLeft } from '../text/estimate.ts';
import { type Invoked, tell } from './operation.ts';

type Progress = { readonly done: number; readonly total?: number };

const WIDTH = 30;

/** Shows progress without a known total: one line each time. */
export const tellCount =
  (command: Invoked, what: string) =>
  ({ done }: { readonly done: number }): void =>
    tell(command, `${done.toLocaleString('en')} ${what}`);

/**
 * Runs a long operation, and shows its progress on stderr: a bar redrawn in place on a terminal, otherwise a line for every 10 %.
 * @param work calls `show` from time to time
 * @param what is counted
 */
export async function withProgressBar<R>(
  command: Invoked,
  work: (show: (progress: Progress) => void) => Promise<R>,
  what = 'events',
): Promise<R> {
  const write = (text: string) => command.configureOutput().writeErr?.(text);
  const isTerminal = process.stderr.isTTY === true;
  const estimate = createEstimate();
  let drawn = '';
  let tenths = 0;
  const result = await work(({ done, total = done }) => {
    // Events may have been added since the total was counted.
    const all = Math.max(done, total, 1);
    estimate.note(done);
    const left = timeLeft(estimate.secondsLeft(total));
    const counted = `${done.toLocaleString('en')} of ${all.toLocaleString('en')} ${what}${left}`;
    if (isTerminal) {
      const filled = Math.floor((done / all) * WIDTH);
      // Overwrite the previous line completely.
      drawn = `\r${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}  ${counted}`.padEnd(drawn.length);
      write(drawn);
      return;
    }
    const reached = Math.floor((done / all) * 10);
    if (reached <= tenths) return;
    tenths = reached;
    write(`${counted}\n`);
  });
  if (drawn !== '') write('\n');
  return result;
}
