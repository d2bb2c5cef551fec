import { COUNT, fileCounts } from './shared-counts.ts';

/** How long a thread that keeps committing lets another of this process go first. */
const YIELD_MS = 3;

/**
 * Lets the threads of this process take turns with the write lock of a file. SQLite has no queue: a thread whose commits follow
 * each other would keep the others from ever finding the lock free. Counts only; the lock itself stays SQLite's.
 */
export type Turns = {
  /** Call while waiting for the lock. Resolves when a thread of this process has released it, or after `limitMs`. */
  released(limitMs: number): Promise<void>;
  /** Says that this thread waits for the lock; call the result when it no longer does. */
  wait(): () => void;
  /** Call after a commit. */
  release(): void;
  /** Call before a commit that follows another one: resolves once those who wait have had their turn. */
  letOthersGo(): Promise<void>;
};

/** The turns at a file. */
export function openTurns(path: string): Turns {
  const { counts } = fileCounts(path);

  async function changed(index: number, from: number, limitMs: number): Promise<void> {
    const { async, value } = Atomics.waitAsync(counts, index, from, limitMs);
    if (!async) return;
    await new Promise<void>((resolve) => {
      // The wait alone would not keep a process from ending.
      const timer = setTimeout(resolve, limitMs);
      void value.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  return {
    released: (limitMs) => changed(COUNT.released, Atomics.load(counts, COUNT.released), limitMs),
    wait() {
      Atomics.add(counts, COUNT.waiting, 1);
      return () => {
        Atomics.sub(counts, COUNT.waiting, 1);
        Atomics.notify(counts, COUNT.waiting);
      };
    },
    release() {
      Atomics.add(counts, COUNT.released, 1);
      Atomics.notify(counts, COUNT.released);
    },
    async letOthersGo() {
      const waiting = Atomics.load(counts, COUNT.waiting);
      if (waiting > 0) await changed(COUNT.waiting, waiting, YIELD_MS);
    },
  };
}
