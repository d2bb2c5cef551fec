import type { Command } from '@commander-js/extra-typings';
import { operated } from './operation.ts';
import { subcommand } from './subcommand.ts';

export function clockCommands(venue: Command): void {
  const clock = venue.command('clock').description('check the clock of this machine');

  subcommand(
    clock,
    'check',
    'compare the clock with the last event, other processes and MongoDB; exits with 1 if it is wrong',
    'clock check',
  ).action(
    operated(async ({ clockWatch }) => {
      const problem = await clockWatch.checkAll();
      return problem === undefined
        ? { json: { believed: true } }
        : {
            json: { believed: false, problem },
            failure: { error: 'ClockNotBelieved', details: 'Requests do not expire and bookings are not completed' },
          };
    }),
  );
}
