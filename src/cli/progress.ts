type Progress = { readonly done: number; readonly total?: number };

const WIDTH = 30;

/**
 * Shows how far a long work is: on a terminal a bar that is redrawn in place, elsewhere a line for every tenth part.
 * @param write where it goes: not where the result goes
 */
export function progressBar(
  write: (text: string) => void,
  isTerminal: boolean,
): { show(progress: Progress): void; end(): void } {
  let drawn = '';
  let tenths = 0;
  return {
    show({ done, total = done }) {
      // More may have come in since the total was counted.
      const all = Math.max(done, total, 1);
      const events = `${done.toLocaleString('en')} of ${all.toLocaleString('en')} events`;
      if (isTerminal) {
        const filled = Math.floor((done / all) * WIDTH);
        drawn = `\r${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}  ${events}`;
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
    },
  };
}
