import type { Command } from '@commander-js/extra-typings';
import { refuse } from '../domain/decision.ts';
import { operate } from './operation.ts';
import { subcommand } from './subcommand.ts';

export function clockCommands(venue: Command): void {
  const clock = venue.command('clock').description('check or accept the clock of this machine');

  subcommand(
    clock,
    'check',
    'compare the clock with the engines or with the record of this machine; exits with 1 if it is wrong',
    'clock check',
  ).action((_, command) =>
    operate(command, async ({ clockWatch }) => {
      const problem = await clockWatch.check();
      return problem === undefined
        ? { json: { believed: true }, text: 'The clock of this machine can be trusted.' }
        : {
            json: { believed: false, problem },
            text: `${problem}.`,
            failure: { error: 'ClockNotBelieved', details: 'Requests do not expire and bookings are not completed' },
          };
    }),
  );

  subcommand(
    clock,
    'accept',
    'trust the clock of this machine again, after you set it on purpose',
    'clock accept',
  ).action((_, command) =>
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
