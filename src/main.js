// Plain JavaScript, like src/cli.js and src/runtime/thread.js: Node loads its TypeScript stripper (8 MiB, 50 ms) for the first file
// that is not in the compile cache, and the file that enables the cache cannot be in it.
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('./runtime/startup.ts');
const { serve } = await import('./serve.ts');
await serve();
