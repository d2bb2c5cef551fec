import { Argument, type Command } from '@commander-js/extra-typings';
import { projections } from '../../projections/index.ts';
import { toOperatorVerification } from '../contract/maintenance.ts';
import { discardReadModels } from '../engines.ts';
import { operate, operatorConfig } from './operation.ts';
import { table } from './print.ts';
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

  venue
    .command('verify')
    .description('replay the log and compare every document of the read models; exits with 1 if any differs')
    .addHelpText('after', '\nExample:\n  venue verify')
    .action((_, command) =>
      operate(command, async ({ maintenance }) => {
        const bar = progressBar((text) => command.configureOutput().writeErr?.(text), process.stderr.isTTY === true);
        const found = await maintenance.verify({ onProgress: bar.show });
        bar.end();
        const { differences, notVerified } = found;
        const summary = `${found.documents} documents compared after ${found.events} events.`;
        const left =
          notVerified.length === 0
            ? ''
            : ` Not verified because they are still being built: ${notVerified.join(', ')}.`;
        if (differences.length === 0 && notVerified.length === 0)
          return { json: toOperatorVerification(found), text: summary };
        const rows = differences.map(({ projection, key, expected, actual }) => ({
          'Read model': projection,
          Key: key,
          Expected: JSON.stringify(expected) ?? 'none',
          Stored: JSON.stringify(actual) ?? 'none',
        }));
        return {
          json: toOperatorVerification(found),
          text: differences.length === 0 ? summary : `${table(rows)}\n${summary}`,
          failure: `${differences.length === 0 ? 'No differences found' : 'Read models differ from the log'}.${left}`,
        };
      }),
    );
}
