// The entry point of every thread. Plain JavaScript: see src/main.js.
import { enableCompileCache, flushCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';

enableCompileCache();
await import(workerData.module);
const { collectAtRest } = await import('../event-loop/rest.ts');
collectAtRest();
// Node otherwise saves the cache only when a thread exits normally.
setImmediate(flushCompileCache);
