// Plain JavaScript, like src/cli.js and src/threads/thread.js: Node loads its TypeScript stripper (8 MiB, 50 ms) for the first file
// that is not in the compile cache, and the file that enables the cache cannot be in it.
import { enableCompileCache } from 'node:module';
import { constants } from 'node:os';

// Handlers come first, because process 1 of a container ignores signals that it does not handle. Until the service has started, there is
// nothing to finish.
let stop = (signal) => process.exit(128 + constants.signals[signal]);
for (const name of ['SIGTERM', 'SIGINT']) process.on(name, (signal) => stop(signal));

enableCompileCache();
const { serve } = await import('./serve.ts');
stop = await serve();
