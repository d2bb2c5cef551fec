import type { Command } from '@commander-js/extra-typings';
import { toOperatorParkedEvent } from '../contract/maintenance.ts';
import { refuse } from '../domain/decision.ts';
import { operate } from './operation.ts';
import { table } from './print.ts';

export function parkedCommands(venue: Command): void {
  const parked = venue.command('parked').description('manage events that could not be turned into webhook deliveries');

  parked
    .command('list')
    .description('list events that are parked or being retried, with the reason')
    .addHelpText('after', '\nExample:\n  venue parked list')
    .action((_, command) =>
      operate(command, async ({ webhooks }) => {
        const all = await webhooks.listFailedEvents();
        const rows = all.map(({ eventId, type, stream, state, failures, failingSince, due, reason }) => ({
          Id: eventId,
          Event: type,
          Stream: stream,
          State: state,
          Failures: failures,
          Since: failingSince,
          Parked: state === 'Parked' ? due : undefined,
          'Next try': state === 'Retrying' ? due : undefined,
          Reason: reason,
        }));
        return { json: all.map(toOperatorParkedEvent), text: table(rows) };
      }),
    );

  parked
    .command('replay')
    .description('retry one parked event, or all of them')
    .argument('[id]', 'id of the event, from `parked list`')
    .addHelpText('after', '\nExamples:\n  venue parked replay\n  venue parked replay 0198f2c4-…')
    .action((id, _, command) =>
      operate(command, async ({ webhooks }) => {
        const replayed = await webhooks.replayParked(id);
        if (id !== undefined && replayed === 0) return refuse('ResourceNotFound', `There is no parked event ${id}.`);
        return { json: { replayed }, text: replayed === 1 ? 'Replayed 1 event.' : `Replayed ${replayed} events.` };
      }),
    );
}
