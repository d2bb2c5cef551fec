import { Argument, type Command } from '@commander-js/extra-typings';
import { projections } from '../../projections/index.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import { picked } from '../domain/picked.ts';
import { discardReadModels } from '../engines.ts';
import { type OperatorCore, operate, operated, operatorConfig } from './operation.ts';
import { withProgressBar } from './progress.ts';
import { answer, subcommand } from './subcommand.ts';

export function readModelCommands(venue: Command): void {
  subcommand(venue, 'rebuild', 'rebuild read models from the log, without downtime', [
    'rebuild',
    'rebuild --from-nothing',
  ])
    .option('--from-nothing', 'delete all read models first, even damaged ones; the service must be stopped')
    .action(async ({ fromNothing = false }, command) => {
      if (fromNothing) await discardReadModels(operatorConfig());
      await operate(command, async ({ maintenance }) => {
        const names = projections.map(({ name }) => name);
        await withProgressBar(command, (show) => maintenance.rebuild(show));
        return { json: { rebuilt: names } };
      });
    });

  const readModel = venue.command('read-model').description('list the read models, and unblock one that fails');

  subcommand(readModel, 'list', 'list the read models: state, failure, and skipped events', 'read-model list').action(
    operated(async ({ maintenance }) => {
      const all = await maintenance.readModels();
      const json = all.map(({ failure, skipped, ...readModel }) => ({
        ...picked(readModel, ['name', 'version', 'state', 'events']),
        failure: failure && picked(failure, ['message', 'attempts', 'event']),
        skipped: skipped.map((skip) => picked(skip, ['eventId', 'eventType', 'reason', 'at', 'by'])),
      }));
      return { json, columns: ['name', 'version', 'state', 'events', 'failure.message', 'skipped'] };
    }),
  );

  subcommand(
    readModel,
    'skip',
    'make a read model skip the event it fails on, for good; recorded in the log with the reason',
    'read-model skip reviews --reason "Posted by a test of the next release"',
    `The documents will not reflect the event, even after a rebuild. If there is time, fix the projection and raise its version instead.`,
  )
    .addArgument(new Argument('<name>', 'the read model').choices(projections.map(({ name }) => name)))
    .option('--event <id>', 'the event, from `read-model list`; refused if the read model now fails on another one')
    .requiredOption('--reason <text>', 'why')
    .action(
      operated(async ({ maintenance, commands, context }, name, options) => {
        const failing = await failingEvent(maintenance, name);
        if (isRefusal(failing)) return failing;
        const { version, id, type } = failing;
        if (options.event !== undefined && options.event !== id)
          return refuse('ValidationError', `The read model ${name} fails on event ${id}, not on ${options.event}.`);
        const skip = { readModel: name, version, eventId: id, eventType: type, reason: options.reason };
        const skipped = await commands.readModels.skipEvent(skip, context);
        return answer(skipped, () => ({ json: { readModel: name, skipped: id } }));
      }),
    );
}

async function failingEvent(maintenance: OperatorCore['maintenance'], name: string) {
  const model = (await maintenance.readModels()).find((each) => each.name === name);
  if (model?.failure?.event === undefined)
    return refuse('ValidationError', `The read model ${name} does not fail on an event. See venue read-model list.`);
  return { version: model.version, ...model.failure.event };
}
