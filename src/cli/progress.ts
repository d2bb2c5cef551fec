import { createEstimate, timeLeft } from '../runtime/estimate.ts';

type Progress = { readonly done: number; readonly total?: number };

const WIDTH = 30;

/**
 * Shows the progress of a long operation: a bar redrawn in place on a terminal, otherwise a line for every 10 %.
 * @param write must not write to the result stream
 */
export function progressBar(
  write: (text: string) => void,
  isTerminal: boolean,
): { show(progress: Progress): void; end(): void } {
  let drawn = '';
  let tenths = 0;
  const estimate = createEstimate();
  return {
    show({ done, total = done }) {
      // Events may have been added since the total was counted.
      const all = Math.max(done, total, 1);
      estimate.note(done);
      const left = timeLeft(estimate.secondsLeft(total));
      const events = `${done.toLocaleString('en')} of ${all.toLocaleString('en')} events${left}`;
      if (isTerminal) {
        const filled = Math.floor((done / all) * WIDTH);
        // Overwrite the previous line completely.
        drawn = `\r${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}  ${events}`.padEnd(drawn.length);
        write(drawn);
        return;
      }
      const reached = Math.floor((done / all) * 10);
      if (reached <= tenths) return;
      tenths = reached;
      write(`${events}\n`);
    },
    end() {
      if (drawn !== '') write('\n');
      drawn = '';
    },
  };
}
