import type { Command } from '@commander-js/extra-typings';
import { refuse } from '../domain/decision.ts';
import { picked } from '../domain/picked.ts';
import { type OperatorCore, operated } from './operation.ts';
import { subcommand } from './subcommand.ts';

type FailedEvent = Awaited<ReturnType<OperatorCore['mail']['listFailedEvents']>>[number];

export function parkedCommands(venue: Command): void {
  const parked = venue
    .command('parked')
    .description('manage events that could not be turned into webhook deliveries or mails');

  subcommand(parked, 'list', 'list events that are parked or being retried, with the reason', 'parked list').action(
    operated(async ({ webhooks, mail }) => {
      const of = (into: string, events: readonly FailedEvent[]) => events.map((event) => ({ ...event, into }));
      const all = [
        ...of('deliveries', await webhooks.listFailedEvents()),
        ...of('mails', await mail.listFailedEvents()),
      ];
      const json = all.map(({ eventId: id, into, ...event }) => ({
        id,
        into,
        ...picked(event, ['type', 'stream', 'revision', 'state', 'failures', 'reason', 'failingSince', 'due']),
      }));
      return { json };
    }),
  );

  subcommand(parked, 'replay', 'retry one parked event, or all of them', ['parked replay', 'parked replay 0198f2c4-…'])
    .argument('[id]', 'id of the event, from `parked list`')
    .action(
      operated(async ({ webhooks, mail }, id) => {
        const replayed = (await webhooks.replayParked(id)) + (await mail.replayParked(id));
        if (id !== undefined && replayed === 0) return refuse('ResourceNotFound', `There is no parked event ${id}.`);
        return { json: { replayed } };
      }),
    );
}
