import { type Command, CommanderError, type OptionValues } from '@commander-js/extra-typings';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { wholeNumber } from './arguments.ts';

/** Adds a command to a group. Its help shows the examples, each without the leading `venue`. */
export function subcommand(group: Command, name: string, description: string, ...examples: readonly string[]): Command {
  const heading = examples.length === 1 ? 'Example' : 'Examples';
  const help = `\n${heading}:\n${examples.map((example) => `  venue ${example}`).join('\n')}`;
  return group.command(name).description(description).addHelpText('after', help);
}

/** Adds the options `--community ID` and `--brand ID`, of which `namedAccount` and `requiredAccount` take one. */
export const withAccount = <Arguments extends unknown[], Options extends OptionValues>(
  command: Command<Arguments, Options>,
  { community, brand }: Record<'community' | 'brand', string>,
) => command.option('--community <id>', community, wholeNumber).option('--brand <id>', brand, wholeNumber);

/** The options contradict each other, or lack one. */
export const wrongUsage = (message: string): CommanderError => new CommanderError(2, 'venue.usage', message);

/** Applies `answerOf` to an outcome, unless it is a refusal. */
export const answer = <Outcome, A>(outcome: Outcome | Refusal, answerOf: (outcome: Outcome) => A): A | Refusal =>
  isRefusal(outcome) ? outcome : answerOf(outcome);
