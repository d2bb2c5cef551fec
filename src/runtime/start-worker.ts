import { Worker } from 'node:worker_threads';

/** Runs a file in a worker thread. It finds what it is given in `workerData.data`. */
export const startWorker = (name: string, file: URL, data: object): Worker =>
  new Worker(new URL('./thread.js', import.meta.url), {
    name,
    workerData: { module: file.href, data },
    // Files that it leaves open when it ends are not closed for it: that would release locks of SQLite (src/sqlite/commit-count.ts).
    trackUnmanagedFds: false,
  });
