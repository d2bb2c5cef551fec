import { fileCounts } from './shared-counts.ts';

/** How long a thread that keeps committing lets another of this process go first. */
const YIELD_MS = 3;

/** What is counted of a file, and where. */
const WAITING = 0;
const RELEASED = 1;

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
    released: (limitMs) => changed(RELEASED, Atomics.load(counts, RELEASED), limitMs),
    wait() {
      Atomics.add(counts, WAITING, 1);
      return () => {
        Atomics.sub(counts, WAITING, 1);
        Atomics.notify(counts, WAITING);
      };
    },
    release() {
      Atomics.add(counts, RELEASED, 1);
      Atomics.notify(counts, RELEASED);
    },
    async letOthersGo() {
      const waiting = Atomics.load(counts, WAITING);
      if (waiting > 0) await changed(WAITING, waiting, YIELD_MS);
    },
  };
}
