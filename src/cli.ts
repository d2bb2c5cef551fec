import { enableCompileCache } from 'node:module';

// What was compiled once is found again: the second call starts in half the time.
enableCompileCache();
const { runVenue } = await import('./cli/venue.ts');
process.exitCode = await runVenue(process.argv.slice(2));
