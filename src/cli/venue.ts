import { Command, CommanderError } from '@commander-js/extra-typings';
import { ConfigError } from '../config.ts';
import { keyCommands } from './api-keys.ts';
import { bookingCommands } from './bookings.ts';
import { brandCommands } from './brands.ts';
import { clientCommands } from './clients.ts';
import { communityCommands } from './communities.ts';
import { type Problem, RefusedError } from './operation.ts';
import { parkedCommands } from './parked.ts';
import { readModelCommands } from './read-models.ts';
import { reviewCommands } from './reviews.ts';
import { signingKeyCommands } from './signing-keys.ts';
import { spaceCommands } from './spaces.ts';
import { userCommands } from './users.ts';
import { webhookCommands } from './webhooks.ts';

/** 0 done, 1 refused or failed, 2 wrong usage or configuration. */
export type ExitCode = 0 | 1 | 2;

/** Where text goes. */
type Output = { readonly out: (text: string) => unknown; readonly err: (text: string) => unknown };

const TERMINAL: Output = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
};

/**
 * Runs the command line `venue …`. Results go to stdout; what went wrong goes to stderr, as one line or, with `--json`, in
 * the API's error shape.
 */
export async function runVenue(args: readonly string[], output: Output = TERMINAL): Promise<ExitCode> {
  const asJson = args.includes('--json');
  const complain = ({ error, details }: Problem) => {
    const line = asJson ? JSON.stringify({ error, details }) : `${error}: ${details.replaceAll('\n', ' ')}`;
    output.err(`${line}\n`);
  };
  try {
    await program(asJson, output).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      // A group without a command has shown its help to whoever can read it.
      const shownHelp = error.code === 'commander.help';
      if (shownHelp && asJson) complain({ error: 'ValidationError', details: 'Name a command. See --help.' });
      if (!shownHelp) complain(usageProblem(error));
      return 2;
    }
    if (error instanceof ConfigError) {
      complain({ error: 'ValidationError', details: error.message });
      return 2;
    }
    if (error instanceof RefusedError) complain(error.problem);
    else complain({ error: 'InternalError', details: error instanceof Error ? error.message : String(error) });
    return 1;
  }
}

function program(asJson: boolean, { out, err }: Output): Command {
  const venue = new Command('venue')
    .description('Runs the venue booking service from the command line, beside the running service or without it.')
    .option('--json', 'print JSON instead of text')
    .helpOption('-h, --help', 'show what there is, with examples')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: out,
      // Only the help of a group goes there; whoever reads JSON gets a problem instead.
      writeErr: asJson ? () => {} : err,
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText(
      'after',
      `
Settings come from the same environment as the service's (DATA_DIR, EVENTSTORE_URL, MONGODB_URL, …); README has the table.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration.

Examples:
  npm run venue -- community add --name "Harbour Lofts" --time-zone Europe/Berlin
  npm run venue -- space add --help
  npm run --silent venue -- booking list --community 1 --status Pending --json`,
    );
  const groups = [
    communityCommands,
    spaceCommands,
    brandCommands,
    keyCommands,
    userCommands,
    clientCommands,
    signingKeyCommands,
    bookingCommands,
    reviewCommands,
    webhookCommands,
    parkedCommands,
    readModelCommands,
  ];
  for (const addTo of groups) addTo(venue);
  return venue;
}

const usageProblem = ({ message }: CommanderError): Problem => ({
  error: 'ValidationError',
  details: `${message.replace(/^error: /, '').replace(/\.?$/, '.')} See --help.`,
});
