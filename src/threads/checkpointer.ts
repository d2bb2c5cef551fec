import { Worker } from 'node:worker_threads';
import type { WalStep } from '../sqlite/wal.ts';
import type { Step } from './checkpointer-thread.ts';

/** Flushes and checkpoints WALs in a thread of its own, which starts with the first long one: a disk may take 100 ms for one. */
export function createCheckpointer() {
  const running = new Set<string>();
  let worker: Worker | undefined;

  function start(): Worker {
    const started = new Worker(new URL('./thread.js', import.meta.url), {
      name: 'checkpointer',
      workerData: { module: new URL('./checkpointer-thread.ts', import.meta.url).href },
      // Node must not close the thread's open files: that would release SQLite's locks for the whole process.
      trackUnmanagedFds: false,
    });
    started.on('message', (path: string) => running.delete(path));
    // The next long WAL starts another.
    started.on('error', (error) => process.emitWarning(String(error)));
    started.on('exit', () => {
      worker = undefined;
      running.clear();
    });
    return started;
  }

  return {
    /** Takes a step for the WAL of a file, unless one is running. If it fails, the WAL stays long, and the next look asks again. */
    take(path: string, step: WalStep): void {
      if (running.has(path)) return;
      running.add(path);
      worker ??= start();
      worker.postMessage({ path, step } satisfies Step);
    },
    /** Ends the thread, after a step that is running. */
    async stop(): Promise<void> {
      const ended = worker && new Promise((resolve) => worker?.once('exit', resolve));
      worker?.postMessage('stop');
      await ended;
    },
  };
}
