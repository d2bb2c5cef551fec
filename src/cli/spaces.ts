import { type Command, CommanderError } from '@commander-js/extra-typings';
import { toOperatorSpace } from '../contract/space.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { DEFAULT_ANSWER_HOURS } from '../domain/limits.ts';
import { formatAmount } from '../domain/pricing.ts';
import { namedAccount, ownedBy } from './accounts.ts';
import { amount, decimal, hours, wholeNumber } from './arguments.ts';
import { type Answer, type OperatorCore, operate } from './operation.ts';
import { fields, table } from './print.ts';

export function spaceCommands(venue: Command): void {
  const space = venue.command('space').description('manage spaces, which can be booked');
  addCommand(space);
  changeCommand(space);
  closeCommand(space);
  openCommand(space);
  listCommand(space);
}

function addCommand(space: Command): void {
  space
    .command('add')
    .description('add a space to a community')
    .requiredOption('--community <id>', 'community that owns the space', wholeNumber)
    .requiredOption('--name <name>', 'name of the space')
    .requiredOption('--window <from-until>', 'booking window in hours of the day, such as 9-22', hours)
    .requiredOption('--duration <hours>', 'length of every event, in quarter hours', decimal)
    .requiredOption('--fee <amount>', 'flat fee per event, without the service fee', amount)
    .option('--answer-hours <hours>', 'hours after which an unanswered request expires', decimal, DEFAULT_ANSWER_HOURS)
    .addHelpText(
      'after',
      '\nExample:\n  venue space add --community 1 --name "Harbour Hall" --window 9-22 --duration 4 --fee 420.00',
    )
    .action(({ community, name, window, duration, fee, answerHours }, command) =>
      operate(command, async (core, context) => {
        const terms = { name, ...window, durationHours: duration, eventFee: fee, answerHours };
        const id = await core.commands.catalogue.addSpace({ ...terms, communityId: community }, context);
        return isRefusal(id) ? id : shown(core, id);
      }),
    );
}

function changeCommand(space: Command): void {
  space
    .command('change')
    .description('change the terms of a space; existing bookings keep theirs')
    .argument('<id>', 'id of the space', wholeNumber)
    .option('--name <name>', 'name of the space')
    .option('--window <from-until>', 'booking window in hours of the day, such as 9-22', hours)
    .option('--duration <hours>', 'length of every event, in quarter hours', decimal)
    .option('--fee <amount>', 'flat fee per event, without the service fee', amount)
    .option('--answer-hours <hours>', 'hours after which an unanswered request expires', decimal)
    .addHelpText('after', '\nExample:\n  venue space change 1 --fee 450.00 --window 10-23')
    .action((id, { name, window, duration, fee, answerHours }, command) => {
      const terms = { ...window, ...defined({ name, durationHours: duration, eventFee: fee, answerHours }) };
      if (Object.keys(terms).length === 0)
        throw new CommanderError(2, 'venue.nothing', 'nothing to change: use at least one option');
      return operate(command, (core, context) =>
        after(core, id, core.commands.catalogue.changeSpace({ spaceId: id, terms }, context)),
      );
    });
}

function closeCommand(space: Command): void {
  space
    .command('close')
    .description('stop taking new bookings; existing ones stay')
    .argument('<id>', 'id of the space', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue space close 4')
    .action((id, _, command) =>
      operate(command, (core, context) => after(core, id, core.commands.catalogue.closeSpace(id, context))),
    );
}

function openCommand(space: Command): void {
  space
    .command('open')
    .description('start taking bookings again')
    .argument('<id>', 'id of the space', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue space open 4')
    .action((id, _, command) =>
      operate(command, (core, context) => after(core, id, core.commands.catalogue.openSpace(id, context))),
    );
}

function listCommand(space: Command): void {
  space
    .command('list')
    .description('list all spaces, or those of one community')
    .option('--community <id>', 'only spaces of this community', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue space list --community 1')
    .action(({ community }, command) =>
      operate(command, async (core) => {
        const { queries, config } = core;
        const all = await ownedBy(core, namedAccount({ community }), () => queries.operator.spaces(community));
        if (isRefusal(all)) return all;
        const rows = all.map((space) => ({
          Id: space.spaceId,
          Community: space.communityId,
          Name: space.name,
          Active: space.active,
          Window: `${space.windowStart}-${space.windowEnd}`,
          Hours: space.durationHours,
          Fee: `${formatAmount(space.eventFee)} ${config.currency}`,
          'Time zone': space.timeZone,
        }));
        return { json: all.map(toOperatorSpace), text: table(rows) };
      }),
    );
}

/** Shows the space after a change, unless it was refused. */
async function after(core: OperatorCore, id: number, change: Promise<object | Refusal>): Promise<Answer | Refusal> {
  const outcome = await change;
  return isRefusal(outcome) ? outcome : shown(core, id);
}

async function shown({ queries, config }: OperatorCore, id: number): Promise<Answer> {
  const space = await queries.operator.space(id);
  if (space === undefined) throw new Error(`Space ${id} is not in the read model`);
  const text = fields({
    Space: space.spaceId,
    Name: space.name,
    Community: space.communityId,
    Active: space.active,
    Window: `${space.windowStart}:00 to ${space.windowEnd}:00, ${space.timeZone}`,
    Hours: space.durationHours,
    Fee: `${formatAmount(space.eventFee)} ${config.currency}`,
    'Answer within': `${space.answerHours} h`,
  });
  return { json: toOperatorSpace(space), text };
}
