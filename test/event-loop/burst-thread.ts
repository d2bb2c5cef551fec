import { getHeapStatistics } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { collectAtRest } from '../../src/event-loop/rest.ts';

// A thread with one burst of work and then none. Reports the size of its heap before, during and, on request, after.
// `workerData`: how many objects the burst makes, and when (as `Date.now()`) the thread first checks whether it is idle.

const size = (): number => getHeapStatistics().total_heap_size;

const before = size();
const burst = Array.from({ length: workerData.objects }, (_, i) => ({ i }));
parentPort?.postMessage({ before, during: size(), objects: burst.length });
burst.length = 0;
collectAtRest({ lookEveryMs: Math.max(workerData.firstCheckAt - Date.now(), 100) });
parentPort?.on('message', () => parentPort?.postMessage(size()));
