import { finished, type Writable } from 'node:stream';

/** Lets a limited number of answers per key be worked on at once. */
export type Turns = {
  /**
   * Waits for a turn, in the order in which they are asked for. A turn ends with its answer: when the answer has been written, or its
   * connection is closed.
   * @returns false if the answer has ended before its turn came
   */
  take(key: string, answer: Writable): Promise<boolean>;
};

/** @param limit how many answers with the same key may be worked on at once */
export function createTurns(limit: number): Turns {
  /** The answers of each key, in order; the first ones have their turn. */
  const queues = new Map<string, Set<{ readonly begin: (isOpen: boolean) => void }>>();

  return {
    take(key, answer) {
      const { promise, resolve: begin } = Promise.withResolvers<boolean>();
      const entry = { begin };
      const queue = queues.get(key) ?? new Set();
      queues.set(key, queue.add(entry));
      if (queue.size <= limit) begin(true);
      finished(answer, { readable: false }, () => {
        begin(false);
        queue.delete(entry);
        if (queue.size === 0) queues.delete(key);
        // In the next turn of the event loop, which knows of all connections that were closed together with this one.
        setImmediate(() => {
          for (const first of queue.values().take(limit)) first.begin(true);
        });
      });
      return promise;
    },
  };
}
