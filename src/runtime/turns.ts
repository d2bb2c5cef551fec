import { finished, type Writable } from 'node:stream';

/** Limits the concurrent responses per key. */
export type Turns = {
  /**
   * Waits for a turn, first come, first served. A turn ends when its response is written or its connection closes.
   * @returns false if the response ended before its turn came
   */
  take(key: string, answer: Writable): Promise<boolean>;
};

/** @param limit the number of concurrent responses per key */
export function createTurns(limit: number): Turns {
  /** The responses of each key, in order; the first ones have their turn. */
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
        // Wait for the next turn of the event loop: by then, other connections that closed at the same time are marked as closed.
        setImmediate(() => {
          for (const first of queue.values().take(limit)) first.begin(true);
        });
      });
      return promise;
    },
  };
}
