import { type Command, CommanderError } from '@commander-js/extra-typings';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { formatAmount, toAmount } from '../domain/pricing.ts';
import type { Space } from '../domain/space.ts';
import { amount, decimal, hours, wholeNumber } from './arguments.ts';
import { type Answer, type OperatorCore, operate } from './operation.ts';
import { fields, table } from './print.ts';

/** A request that nobody answers lapses after this (docs/decisions/expiry-and-completion.md). */
const ANSWER_HOURS = 72;

export function spaceCommands(venue: Command): void {
  const space = venue.command('space').description('spaces, which can be booked');

  space
    .command('add')
    .description('add a space to a community')
    .requiredOption('--community <id>', 'the community that owns it', wholeNumber)
    .requiredOption('--name <name>', 'display name')
    .requiredOption('--window <from-until>', 'hours of the day in which it may be used, such as 9-22', hours)
    .requiredOption('--duration <hours>', 'how long every event takes, in quarters of an hour', decimal)
    .requiredOption('--fee <amount>', 'flat fee per event, without the service fee', amount)
    .option('--answer-hours <hours>', 'how long a request may wait for an answer', decimal, ANSWER_HOURS)
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

  space
    .command('change')
    .description('change the terms of a space; bookings already requested keep theirs')
    .argument('<id>', 'the space', wholeNumber)
    .option('--name <name>', 'display name')
    .option('--window <from-until>', 'hours of the day in which it may be used', hours)
    .option('--duration <hours>', 'how long every event takes', decimal)
    .option('--fee <amount>', 'flat fee per event', amount)
    .option('--answer-hours <hours>', 'how long a request may wait for an answer', decimal)
    .addHelpText('after', '\nExample:\n  venue space change 1 --fee 450.00 --window 10-23')
    .action((id, { name, window, duration, fee, answerHours }, command) => {
      const terms = {
        ...(name === undefined ? {} : { name }),
        ...window,
        ...(duration === undefined ? {} : { durationHours: duration }),
        ...(fee === undefined ? {} : { eventFee: fee }),
        ...(answerHours === undefined ? {} : { answerHours }),
      };
      if (Object.keys(terms).length === 0) throw new CommanderError(2, 'venue.nothing', 'nothing to change was named');
      return operate(command, (core, context) =>
        after(core, id, core.commands.catalogue.changeSpace({ spaceId: id, terms }, context)),
      );
    });

  space
    .command('close')
    .description('take no new bookings; the ones there are stay')
    .argument('<id>', 'the space', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue space close 4')
    .action((id, _, command) =>
      operate(command, (core, context) => after(core, id, core.commands.catalogue.closeSpace(id, context))),
    );

  space
    .command('open')
    .description('take bookings again')
    .argument('<id>', 'the space', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue space open 4')
    .action((id, _, command) =>
      operate(command, (core, context) => after(core, id, core.commands.catalogue.openSpace(id, context))),
    );

  space
    .command('list')
    .description('all spaces, or those of one community')
    .option('--community <id>', 'only of this community', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue space list --community 1')
    .action(({ community }, command) =>
      operate(command, async ({ queries, config }) => {
        const all = await queries.operator.spaces(community);
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
        return { json: all.map(toJson), text: table(rows) };
      }),
    );
}

/** The space after a change that was not refused. */
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
    Answer: `within ${space.answerHours} h`,
  });
  return { json: toJson(space), text };
}

const toJson = ({ spaceId: id, eventFee, ...space }: Space) => ({ id, ...space, eventFee: toAmount(eventFee) });
