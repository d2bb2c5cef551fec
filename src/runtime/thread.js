// Every thread begins here. Why this is plain JavaScript, src/main.js says.
import { enableCompileCache, flushCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';

enableCompileCache();
await import(workerData.module);
const { collectAtRest } = await import('./rest.ts');
collectAtRest();
// Otherwise it is saved only when a thread ends by itself.
setImmediate(flushCompileCache);
