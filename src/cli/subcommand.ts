import { type Command, CommanderError, type CommandUnknownOpts, type OptionValues } from '@commander-js/extra-typings';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { venueCommand } from '../text/venue-command.ts';
import { wholeNumber } from './arguments.ts';
import { type Answer, type OperatorCore, operated } from './operation.ts';

/**
 * Adds a command to a group.
 * @param examples for the help, each without the leading `venue`
 * @param notes above the examples
 */
export function subcommand(
  group: Command,
  name: string,
  description: string,
  examples: string | readonly string[],
  notes = '',
): Command {
  const all = [examples].flat();
  const command = group
    .command(name)
    .description(description)
    .addHelpText('after', `\n${notes && `${notes}\n\n`}${exampleLines(all)}`);
  FIRST_EXAMPLES.set(command, all.slice(0, 1));
  return command;
}

/** The example that the help of the group shows. */
const FIRST_EXAMPLES = new WeakMap<CommandUnknownOpts, readonly string[]>();

/** Ends the help of a group with an example of each command. */
export function addGroupExamples(group: CommandUnknownOpts): void {
  const examples = group.commands.flatMap((command) => FIRST_EXAMPLES.get(command) ?? []);
  group.addHelpText('after', `\n${exampleLines(examples)}`);
}

const exampleLines = (examples: readonly string[]): string =>
  `${examples.length === 1 ? 'Example' : 'Examples'}:\n${examples.map((each) => `  ${venueCommand()} ${each}`).join('\n')}`;

/**
 * Adds commands whose only argument is an id.
 * @param what the kind of thing that the id names, for the help
 * @param example an example of an id
 */
export const onId =
  <I>(group: Command, what: string, example: string, parse: (text: string) => I) =>
  (name: string, description: string, work: (core: OperatorCore, id: I) => Promise<Answer | Refusal>): void => {
    subcommand(group, name, description, `${group.name()} ${name} ${example}`)
      .argument('<id>', `id of the ${what}`, (text) => ({ id: parse(text) }))
      .action(operated((core, { id }) => work(core, id)));
  };

/**
 * Adds the options `--community ID` and `--brand ID`, which `namedAccount` and `requiredAccount` read.
 * @param use what the account is for, for the help: `the key acts for`
 */
export const withAccount = <Arguments extends unknown[], Options extends OptionValues>(
  command: Command<Arguments, Options>,
  use: string,
) =>
  command
    .option('--community <id>', `community ${use}`, wholeNumber)
    .option('--brand <id>', `brand ${use}`, wholeNumber);

/** The options contradict each other, or lack one. */
export const wrongUsage = (message: string): CommanderError => new CommanderError(2, 'venue.usage', message);

/** The range of `--from` and `--to`, as dates or moments that sort as text. With `isToExcluded` they may not be the same either. */
export function checkRange(from: string | undefined, to: string | undefined, { isToExcluded = false } = {}): void {
  if (from === undefined || to === undefined) return;
  if (isToExcluded && from >= to) throw wrongUsage('--from must be before --to');
  if (from > to) throw wrongUsage('--from must not be after --to');
}

/** Applies `answerOf` to an outcome, unless it is a refusal. */
export const answer = <Outcome, A>(outcome: Outcome | Refusal, answerOf: (outcome: Outcome) => A): A | Refusal =>
  isRefusal(outcome) ? outcome : answerOf(outcome);
