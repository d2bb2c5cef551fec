import { Argument, type Command } from '@commander-js/extra-typings';
import { projections } from '../../projections/index.ts';
import { toOperatorReadModel } from '../contract/maintenance.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import { discardReadModels } from '../engines.ts';
import { type OperatorCore, operate, operatorConfig } from './operation.ts';
import { fields, table } from './print.ts';
import { progressBar } from './progress.ts';

export function readModelCommands(venue: Command): void {
  venue
    .command('rebuild')
    .description('rebuild read models from the log, without downtime')
    .addArgument(new Argument('[name]', 'only this read model').choices(projections.map(({ name }) => name)))
    .option(
      '--from-nothing',
      'throw all read models away first, damaged ones included; needs the service to be stopped',
    )
    .addHelpText('after', '\nExamples:\n  venue rebuild\n  venue rebuild availability\n  venue rebuild --from-nothing')
    .action(async (name, { fromNothing = false }, command) => {
      if (fromNothing && name !== undefined) command.error('--from-nothing rebuilds all read models: name none');
      if (fromNothing) await discardReadModels(operatorConfig());
      await operate(command, async ({ maintenance }) => {
        const bar = progressBar((text) => command.configureOutput().writeErr?.(text), process.stderr.isTTY === true);
        const names = name === undefined ? projections.map((each) => each.name) : [name];
        await maintenance.rebuild({ names, onProgress: bar.show });
        bar.end();
        return { json: { rebuilt: names }, text: `Rebuilt: ${names.join(', ')}.` };
      });
    });

  const readModel = venue.command('read-model').description('see how the read models are, and help one that fails');

  readModel
    .command('list')
    .description('list the read models: how far each is, what it fails on, which events it leaves out')
    .addHelpText('after', '\nExample:\n  venue read-model list')
    .action((_, command) =>
      operate(command, async ({ maintenance }) => {
        const all = await maintenance.readModels();
        const rows = all.map(({ name, version, state, events, failure, skipped }) => ({
          'Read model': name,
          Version: version,
          State: state,
          Events: events,
          'Left out': skipped.length,
          Failure: failure?.message,
        }));
        const leftOut = all.flatMap(({ name, skipped }) =>
          skipped.map(({ eventId, eventType, at, by, reason }) =>
            fields({ 'Left out of': name, Event: `${eventType} ${eventId}`, Since: at, By: by, Reason: reason }),
          ),
        );
        return { json: all.map(toOperatorReadModel), text: [table(rows), ...leftOut].join('\n\n') };
      }),
    );

  readModel
    .command('skip')
    .description(
      'let a read model leave out, for good, the event that it fails on; recorded in the log with the reason',
    )
    .addArgument(new Argument('<name>', 'the read model').choices(projections.map(({ name }) => name)))
    .option('--event <id>', 'the event, from `read-model list`; refused if it fails on another one by now')
    .requiredOption('--reason <text>', 'why')
    .addHelpText(
      'after',
      `
The documents of the read model then lack what the event says, also after a rebuild. Mending the projection and raising its
version is the better way if there is time for it.

Example:
  venue read-model skip reviews --reason "Posted by a test of the next release"`,
    )
    .action((name, options, command) =>
      operate(command, async ({ maintenance, commands }, context) => {
        const failing = await failingEvent(maintenance, name);
        if (isRefusal(failing)) return failing;
        const { version, id, type } = failing;
        if (options.event !== undefined && options.event !== id)
          return refuse('ValidationError', `The read model ${name} fails on event ${id}, not on ${options.event}.`);
        const skip = { readModel: name, version, eventId: id, eventType: type, reason: options.reason };
        const skipped = await commands.readModels.skipEvent(skip, context);
        if (isRefusal(skipped)) return skipped;
        return {
          json: { readModel: name, skipped: id },
          text: `The read model ${name} leaves out ${type} ${id} and goes on within seconds.`,
        };
      }),
    );
}

async function failingEvent(maintenance: OperatorCore['maintenance'], name: string) {
  const model = (await maintenance.readModels()).find((each) => each.name === name);
  if (model?.failure?.event === undefined)
    return refuse('ValidationError', `The read model ${name} does not fail on an event. See venue read-model list.`);
  return { version: model.version, ...model.failure.event };
}
