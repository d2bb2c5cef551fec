// Plain JavaScript for the reason that src/main.js gives.
import { enableCompileCache } from 'node:module';
import { constants } from 'node:os';

enableCompileCache();
await import('./runtime/startup.ts');
// Whoever reads the output may have enough of it (`venue … | head`): that is no failure to speak of, and ends other tools as well, by
// SIGPIPE.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(128 + constants.signals.SIGPIPE);
});
const { runVenue } = await import('./cli/venue.ts');
process.exitCode = await runVenue(process.argv.slice(2));
