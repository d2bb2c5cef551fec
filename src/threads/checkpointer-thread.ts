import { parentPort } from 'node:worker_threads';
import { checkpointFile } from '../sqlite/wal.ts';

if (parentPort === null) throw new Error('This file must run in a worker thread');
const parent = parentPort;

parent.on('message', (path: string) => {
  if (path === 'stop') {
    parent.close();
    return;
  }
  try {
    checkpointFile(path);
  } catch {
    // The file has been removed, or the disk is full.
  }
  parent.postMessage(path);
});
