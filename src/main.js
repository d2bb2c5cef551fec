// Plain JavaScript, like src/cli.js and src/runtime/thread.js: Node loads its TypeScript stripper, which takes 8 MiB and 50 ms, for
// the first file that is not in the compile cache, and what starts the cache cannot be in it.
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('./runtime/startup.ts');
const { serve } = await import('./serve.ts');
await serve();
