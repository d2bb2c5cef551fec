import type { Command } from '@commander-js/extra-typings';
import { toOperatorParkedEvent } from '../contract/maintenance.ts';
import { CONSUMER_GROUP } from '../webhooks/webhooks.ts';
import { operate } from './operation.ts';
import { table } from './print.ts';

export function parkedCommands(venue: Command): void {
  const parked = venue.command('parked').description('manage parked events, which failed too often and were set aside');

  parked
    .command('list')
    .description('list parked events and why they failed')
    .option('--group <name>', 'consumer group', CONSUMER_GROUP)
    .addHelpText('after', '\nExample:\n  venue parked list')
    .action(({ group }, command) =>
      operate(command, async ({ maintenance }) => {
        const all = await Array.fromAsync(maintenance.parked(group));
        const rows = all.map(({ id, event, reason, parkedAt }) => ({
          Id: id,
          Event: event.type,
          Stream: event.stream,
          Parked: parkedAt,
          Reason: reason,
        }));
        return { json: all.map(toOperatorParkedEvent), text: table(rows) };
      }),
    );

  parked
    .command('replay')
    .description('put one parked event, or all of them, back into the group')
    .argument('[id]', 'id of the event, from `parked list`')
    .option('--group <name>', 'consumer group', CONSUMER_GROUP)
    .addHelpText('after', '\nExamples:\n  venue parked replay\n  venue parked replay 0198f2c4-…')
    .action((id, { group }, command) =>
      operate(command, async ({ maintenance }) => {
        const replayed = await maintenance.replayParked(group, id);
        return { json: { replayed }, text: replayed === 1 ? 'Replayed 1 event.' : `Replayed ${replayed} events.` };
      }),
    );
}
