import type { Command } from '@commander-js/extra-typings';
import { toOperatorSpace } from '../contract/space.ts';
import { defined } from '../domain/defined.ts';
import { DEFAULT_ANSWER_HOURS } from '../domain/limits.ts';
import { namedAccount, printOwned } from './accounts.ts';
import { amount, decimal, hours, wholeNumber } from './arguments.ts';
import { describeSpaceCommand, publishSpaceCommand } from './descriptions.ts';
import { type Answer, type OperatorCore, operate, operated } from './operation.ts';
import { photoCommands } from './photos.ts';
import { hoursCommand } from './space-hours.ts';
import { answer, onId, subcommand, wrongUsage } from './subcommand.ts';

/** Descriptions of the options that `add` and `change` share. */
const TERMS = {
  name: 'name of the space',
  window: 'booking window in hours of the day, such as 9-22',
  duration: 'length of every event, in quarter hours',
  fee: 'flat fee per event, without the service fee',
  answerHours: 'hours after which an unanswered request expires',
} as const;

export function spaceCommands(venue: Command): void {
  const space = venue.command('space').description('manage spaces, which can be booked');
  addCommand(space);
  changeCommand(space);
  const onSpace = onId(space, 'space', '4', wholeNumber);
  onSpace('close', 'stop taking new bookings; existing ones stay', async (core, id) =>
    answer(await core.commands.catalogue.closeSpace(id, core.context), () => spaceAnswer(core, id)),
  );
  onSpace('open', 'start taking bookings again', async (core, id) =>
    answer(await core.commands.catalogue.openSpace(id, core.context), () => spaceAnswer(core, id)),
  );
  duplicateCommand(space);
  hoursCommand(space);
  describeSpaceCommand(space);
  publishSpaceCommand(space);
  photoCommands(space, 'space');
  listCommand(space);
}

function addCommand(space: Command): void {
  const example = 'space add --community 1 --name "Harbour Hall" --window 9-22 --duration 4 --fee 420.00';
  subcommand(space, 'add', 'add a space to a community', example)
    .requiredOption('--community <id>', 'community that owns the space', wholeNumber)
    .requiredOption('--name <name>', TERMS.name)
    .requiredOption('--window <from-until>', TERMS.window, hours)
    .requiredOption('--duration <hours>', TERMS.duration, decimal)
    .requiredOption('--fee <amount>', TERMS.fee, amount)
    .option('--answer-hours <hours>', TERMS.answerHours, decimal, DEFAULT_ANSWER_HOURS)
    .action(
      operated(async (core, { community, name, window, duration, fee, answerHours }) => {
        const terms = { name, ...window, durationHours: duration, eventFee: fee, answerHours };
        const added = await core.commands.catalogue.addSpace({ ...terms, communityId: community }, core.context);
        return answer(added, (id) => spaceAnswer(core, id));
      }),
    );
}

function changeCommand(space: Command): void {
  const description = 'change the terms of a space; existing bookings keep theirs';
  subcommand(space, 'change', description, 'space change 1 --fee 450.00 --window 10-23')
    .argument('<id>', 'id of the space', wholeNumber)
    .option('--name <name>', TERMS.name)
    .option('--window <from-until>', TERMS.window, hours)
    .option('--duration <hours>', TERMS.duration, decimal)
    .option('--fee <amount>', TERMS.fee, amount)
    .option('--answer-hours <hours>', TERMS.answerHours, decimal)
    .action((id, { name, window, duration, fee, answerHours }, command) => {
      const terms = { ...window, ...defined({ name, durationHours: duration, eventFee: fee, answerHours }) };
      if (Object.keys(terms).length === 0) throw wrongUsage('nothing to change: use at least one option');
      return operate(command, async (core) => {
        const changed = await core.commands.catalogue.changeSpace({ spaceId: id, terms }, core.context);
        return answer(changed, () => spaceAnswer(core, id));
      });
    });
}

function duplicateCommand(space: Command): void {
  const description = 'add a space with the terms, the special hours, the description and the photos of another one';
  subcommand(space, 'duplicate', description, 'space duplicate 1 --name "Small Hall"')
    .argument('<id>', 'id of the space to take them from', wholeNumber)
    .requiredOption('--name <name>', TERMS.name)
    .action(
      operated(async (core, id, { name }) => {
        const added = await core.commands.catalogue.duplicateSpace({ spaceId: id, name }, core.context);
        return answer(added, (spaceId) => spaceAnswer(core, spaceId));
      }),
    );
}

function listCommand(space: Command): void {
  subcommand(space, 'list', 'list all spaces, or those of one community', 'space list --community 1')
    .option('--community <id>', 'only spaces of this community', wholeNumber)
    .action(({ community }, command) =>
      printOwned(command, namedAccount({ community }), ({ queries }) => queries.operator.spaces(community), {
        json: toOperatorSpace,
      }),
    );
}

async function spaceAnswer({ queries }: OperatorCore, id: number): Promise<Answer> {
  const space = await queries.operator.space(id);
  if (space === undefined) throw new Error(`Space ${id} is not in the read model`);
  return { json: toOperatorSpace(space) };
}
