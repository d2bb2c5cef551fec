import { parentPort } from 'node:worker_threads';
import { checkpointFile, flushWal, type WalStep } from '../sqlite/wal.ts';

/** What this thread is sent. It answers with the path. */
export type Step = { readonly path: string; readonly step: WalStep };

if (parentPort === null) throw new Error('This file must run in a worker thread');
const parent = parentPort;

parent.on('message', (message: Step | 'stop') => {
  if (message === 'stop') {
    parent.close();
    return;
  }
  const { path, step } = message;
  try {
    if (step === 'flush') flushWal(path);
    else checkpointFile(path);
  } catch {
    // The file has been removed, or the disk is full.
  }
  parent.postMessage(path);
});
