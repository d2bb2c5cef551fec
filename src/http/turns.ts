import type { Writable } from 'node:stream';

/** Ends a turn before its response has ended. */
type EndTurn = () => void;

/** Limits the concurrent responses per key. */
export function createTurns(limit: number) {
  /** The responses of each key, in order; the first ones have their turn. */
  const queues = new Map<string, Set<{ readonly begin: () => void }>>();

  return {
    /**
     * Waits for a turn, first come, first served. A turn ends when its response is written or its connection closes, or with the returned
     * function.
     * @returns undefined if the response ended before its turn came
     */
    take(key: string, answer: Writable): Promise<EndTurn | undefined> {
      if (answer.closed) return Promise.resolve(undefined);
      const { promise, resolve } = Promise.withResolvers<EndTurn | undefined>();
      const entry = { begin: () => resolve(end) };
      const queue = queues.getOrInsertComputed(key, () => new Set()).add(entry);
      answer.once('close', end);
      function end(): void {
        resolve(undefined);
        // A batch takes many turns for one response.
        answer.off('close', end);
        if (!queue.delete(entry)) return;
        if (queue.size === 0) queues.delete(key);
        // Wait for the next turn of the event loop: by then, other connections that closed at the same time are marked as closed.
        setImmediate(() => {
          for (const first of queue.values().take(limit)) first.begin();
        });
      }
      if (queue.size <= limit) entry.begin();
      return promise;
    },
    /** Whether responses wait for a turn. */
    areWaiting: (key: string): boolean => (queues.get(key)?.size ?? 0) > limit,
  };
}
