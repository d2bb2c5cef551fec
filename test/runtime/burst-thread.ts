import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { collectAtRest } from '../../src/runtime/rest.ts';

// A thread with one burst of work and then none. Reports the size of its heap before, during and, on request, after.

const size = (): number => getHeapStatistics().total_heap_size;

const before = size();
const burst = Array.from({ length: 4_000_000 }, (_, i) => ({ i }));
parentPort?.postMessage({ before, during: size(), objects: burst.length });
burst.length = 0;
collectAtRest({ lookEveryMs: 100 });
parentPort?.on('message', () => parentPort?.postMessage(size()));
