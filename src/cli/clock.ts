import type { Command } from '@commander-js/extra-typings';
import { refuse } from '../domain/decision.ts';
import { operate } from './operation.ts';

export function clockCommands(venue: Command): void {
  const clock = venue.command('clock').description('whether the clock of this machine can be trusted');

  clock
    .command('check')
    .description(
      'compare the clock with those of the engines, or with what this machine remembers; exits with 1 if it is off',
    )
    .addHelpText('after', '\nExample:\n  venue clock check')
    .action((_, command) =>
      operate(command, async ({ clockWatch }) => {
        const problem = await clockWatch.look();
        return problem === undefined
          ? { json: { believed: true }, text: 'The clock of this machine can be trusted.' }
          : {
              json: { believed: false, problem },
              text: `${problem}.`,
              failure: { error: 'ClockNotBelieved', details: 'Nothing is done by the clock' },
            };
      }),
    );

  clock
    .command('accept')
    .description('declare the clock of this machine to be right, after it was set on purpose')
    .addHelpText('after', '\nExample:\n  venue clock accept')
    .action((_, command) =>
      operate(command, async ({ clockWatch }) => {
        if (!(await clockWatch.accept()))
          return refuse(
            'ValidationError',
            'The clocks of the engines decide whether this one is right. Set it to their time.',
          );
        return { json: { accepted: true }, text: 'Done. A running service trusts the clock within seconds.' };
      }),
    );
}
