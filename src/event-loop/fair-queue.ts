import { Unavailable } from '../runtime/unavailable.ts';

/** Work that waits for its turn. */
type Waiting = { readonly begin: (isLate: boolean) => void; readonly until: number };

/**
 * Runs work, some at once, and takes turns between those who ask for it.
 * @param options.atOnce how much runs at once
 * @param options.withinMs how long work may wait
 */
export function createFairQueue(options: { readonly atOnce: number; readonly withinMs: number }) {
  const { atOnce, withinMs } = options;
  /** By key. The first key has the next turn. */
  const queues = new Map<string, Waiting[]>();
  let running = 0;

  function beginNext(): void {
    while (running < atOnce) {
      const [next] = queues;
      if (next === undefined) return;
      const [key, queue] = next;
      const first = queue.shift();
      queues.delete(key);
      if (queue.length > 0) queues.set(key, queue);
      const isLate = first === undefined || performance.now() > first.until;
      if (!isLate) running += 1;
      first?.begin(isLate);
    }
  }

  return {
    /**
     * Waits for a turn of `key`, then does the work.
     * @throws {Unavailable} if the turn does not come in time; then the work never begins
     */
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      queues.getOrInsertComputed(key, () => []).push({ begin: resolve, until: performance.now() + withinMs });
      beginNext();
      if (await promise)
        throw new Unavailable('The turn did not come in time', undefined, 'Too much is asked for at the moment');
      try {
        return await work();
      } finally {
        running -= 1;
        beginNext();
      }
    },
  };
}
