// Plain JavaScript for the reason that src/main.js gives.
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('./runtime/startup.ts');
const { runVenue } = await import('./cli/venue.ts');
process.exitCode = await runVenue(process.argv.slice(2));
