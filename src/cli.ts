import './runtime/startup.ts';

const { runVenue } = await import('./cli/venue.ts');
process.exitCode = await runVenue(process.argv.slice(2));
