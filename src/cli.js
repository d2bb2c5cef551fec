// Plain JavaScript: see src/main.js.
import { enableCompileCache } from 'node:module';
import { constants } from 'node:os';

// Process 1 of a container ignores signals that it does not handle: Ctrl-C would not end `docker run … venue rebuild`.
if (process.pid === 1)
  for (const name of ['SIGTERM', 'SIGINT']) process.on(name, (signal) => process.exit(128 + constants.signals[signal]));

enableCompileCache();
// The reader may close the pipe (`venue … | head`). End quietly by SIGPIPE, like other tools.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(128 + constants.signals.SIGPIPE);
});
const { runVenue } = await import('./cli/venue.ts');
process.exitCode = await runVenue(process.argv.slice(2));
