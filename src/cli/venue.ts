import { Command, CommanderError } from '@commander-js/extra-typings';
import { NotAsSealed } from '../audit/not-as-sealed.ts';
import { textProblem } from '../domain/unicode.ts';
import { RELEASE } from '../release.ts';
import { ConfigError } from '../runtime/config-error.ts';
import { StoreInUse } from '../runtime/unusable-store.ts';
import { venueCommand } from '../text/venue-command.ts';
import { UnusableCopy } from '../transfer/unusable-copy.ts';
import { apiKeyCommands } from './api-keys.ts';
import { auditCommand } from './audit.ts';
import { backupCommands } from './backup.ts';
import { bookingCommands } from './bookings.ts';
import { brandCommands } from './brands.ts';
import { calendarFeedCommands } from './calendar-feeds.ts';
import { chargeCommands } from './charges.ts';
import { clientCommands } from './clients.ts';
import { clockCommands } from './clock.ts';
import { closureCommands } from './closures.ts';
import { communityCommands } from './communities.ts';
import { exportCommands } from './export.ts';
import { dayCommand } from './history.ts';
import { importCommands } from './import.ts';
import { mailCommands } from './mail.ts';
import { CommandFailed, type Problem } from './operation.ts';
import { parkedCommands } from './parked.ts';
import { personalDataCommands } from './personal-data.ts';
import { toText } from './print.ts';
import { readModelCommands } from './read-models.ts';
import { reportCommand } from './report.ts';
import { reviewCommands } from './reviews.ts';
import { sealCommands } from './seals.ts';
import { secretKeyCommands } from './secret-key.ts';
import { signingKeyCommands } from './signing-keys.ts';
import { spaceCommands } from './spaces.ts';
import { statusCommand } from './status.ts';
import { addGroupExamples } from './subcommand.ts';
import { userCommands } from './users.ts';
import { verifyCommand } from './verify.ts';
import { webhookCommands } from './webhooks.ts';

/** 0 success, 1 refused or failed, 2 wrong usage or invalid configuration. */
export type ExitCode = 0 | 1 | 2;

/** Output streams. */
type Output = { readonly out: (text: string) => unknown; readonly err: (text: string) => unknown };

const TERMINAL: Output = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
};

/**
 * Runs the command line `venue …`. Results go to stdout. Errors go to stderr, as one line or, with `--json`, in the API's
 * error shape.
 */
export async function runVenue(args: readonly string[], output: Output = TERMINAL): Promise<ExitCode> {
  const asJson = args.includes('--json');
  const report = ({ error, details }: Problem) => {
    const line = asJson ? JSON.stringify({ error, details }) : `${error}: ${toText(details)}`;
    output.err(`${line}\n`);
  };
  const unusable = textProblem(args, 'An argument');
  if (unusable !== undefined) {
    report({ error: 'ValidationError', details: `${unusable}.` });
    return 2;
  }
  try {
    await program(asJson, output).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      // A group without a command has already shown its help, unless JSON was asked for.
      const shownHelp = error.code === 'commander.help';
      if (shownHelp && asJson) report({ error: 'ValidationError', details: 'A command is missing. See --help.' });
      if (!shownHelp) report(usageProblem(error));
      return 2;
    }
    if (error instanceof ConfigError) {
      report({ error: 'ValidationError', details: error.message });
      return 2;
    }
    if (error instanceof CommandFailed) report(error.problem);
    else if (error instanceof NotAsSealed) report({ error: 'LogNotAsSealed', details: error.message });
    else if (error instanceof UnusableCopy || error instanceof StoreInUse)
      report({ error: 'ValidationError', details: error.message });
    else report({ error: 'InternalError', details: error instanceof Error ? error.message : String(error) });
    return 1;
  }
}

function program(asJson: boolean, { out, err }: Output): Command {
  const venue = new Command('venue')
    .description('Manage the venue booking service, whether or not it is running.')
    .version(RELEASE, '-V, --version', 'print the release')
    .option('--json', 'print JSON instead of text')
    .helpOption('-h, --help', 'show help, with examples')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: out,
      // Notes, progress and the help of a group. With --json, stderr only gets error objects.
      writeErr: asJson ? () => {} : err,
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText(
      'after',
      `
Reads the same environment variables as the service (DATA_DIR, EVENTSTORE_URL, MONGODB_URL, …);
docs/operations/settings.md lists them.
Exit codes: 0 success, 1 refused or failed, 2 wrong usage or invalid configuration.

Examples:
  ${venueCommand()} community add --name "Harbour Lofts" --time-zone Europe/Berlin
  ${venueCommand()} space add --help
  ${venueCommand()} booking list --community 1 --status Pending --json`,
    );
  const groups = [
    communityCommands,
    spaceCommands,
    closureCommands,
    brandCommands,
    apiKeyCommands,
    calendarFeedCommands,
    userCommands,
    clientCommands,
    signingKeyCommands,
    secretKeyCommands,
    bookingCommands,
    dayCommand,
    auditCommand,
    chargeCommands,
    reportCommand,
    reviewCommands,
    webhookCommands,
    mailCommands,
    parkedCommands,
    readModelCommands,
    personalDataCommands,
    statusCommand,
    verifyCommand,
    sealCommands,
    clockCommands,
    backupCommands,
    exportCommands,
    importCommands,
  ];
  for (const addTo of groups) addTo(venue);
  for (const group of venue.commands) if (group.commands.length > 0) addGroupExamples(group);
  return venue;
}

const usageProblem = ({ message }: CommanderError): Problem => ({
  error: 'ValidationError',
  details: `${message.replace(/^error: /, '').replace(/\.?$/, '.')} See --help.`,
});
