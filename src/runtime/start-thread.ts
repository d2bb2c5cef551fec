import { Worker } from 'node:worker_threads';

/** Runs a file in a worker thread, with `data` in `workerData.data`. */
export const startThread = (name: string, file: URL, data: object): Worker =>
  new Worker(new URL('./thread.js', import.meta.url), {
    name,
    workerData: { module: file.href, data },
    // Node must not close the thread's open files: that would release SQLite's locks for the whole process.
    trackUnmanagedFds: false,
  });
