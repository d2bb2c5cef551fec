import { Argument, type Command } from '@commander-js/extra-typings';
import { toOperatorCommunity } from '../contract/account.ts';
import type { Community } from '../domain/community.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { brandId, communityId } from '../domain/ids.ts';
import { wholeNumber } from './arguments.ts';
import { contactCommand } from './contact.ts';
import { describeCommunityCommand } from './descriptions.ts';
import { type Answer, operate, operated } from './operation.ts';
import { photoCommands } from './photos.ts';
import { answer, subcommand, wrongUsage } from './subcommand.ts';

export function communityCommands(venue: Command): void {
  const community = venue.command('community').description('manage communities, which own spaces');

  subcommand(community, 'add', 'add a community', 'community add --name "Harbour Lofts" --time-zone Europe/Berlin')
    .requiredOption('--name <name>', 'name of the community')
    .requiredOption('--time-zone <zone>', 'IANA time zone of its spaces, such as Europe/Berlin')
    .action(
      operated(async ({ commands, context }, options) =>
        answer(await commands.catalogue.addCommunity(options, context), communityAnswer),
      ),
    );

  subcommand(
    community,
    'change',
    'change the name or the time zone of a community; the zone only while it has no open bookings',
    'community change 1 --name "Harbour Lofts West" --time-zone Europe/London',
  )
    .argument('<id>', 'id of the community', wholeNumber)
    .option('--name <name>', 'name of the community')
    .option('--time-zone <zone>', 'IANA time zone of its spaces')
    .action((id, { name, timeZone }, command) => {
      const facts = defined({ name, timeZone });
      if (Object.keys(facts).length === 0) throw wrongUsage('nothing to change: use at least one option');
      return operate(command, async ({ commands, context }) => {
        const outcome = await commands.catalogue.changeCommunity({ communityId: id, facts }, context);
        if (isRefusal(outcome)) return outcome;
        if (outcome.state === undefined) throw new Error(`Community ${id} was changed and is not there`);
        return communityAnswer(outcome.state);
      });
    });

  subcommand(
    community,
    'new-brands',
    'say what happens to requests of brands that a community does not know',
    'community new-brands 1 wait',
  )
    .argument('<id>', 'id of the community', wholeNumber)
    .addArgument(
      new Argument('<what>', 'wait: a Manager lets the brand in first, or not').choices([
        'wait',
        'ask-nothing',
      ] as const),
    )
    .action(
      operated(async ({ commands, context }, id, what) => {
        const wanted = { communityId: communityId(id), newBrands: what === 'wait' ? what : 'askNothing' } as const;
        const outcome = await commands.admissions.changeNewBrands(wanted, context);
        if (isRefusal(outcome)) return outcome;
        if (outcome.state === undefined) throw new Error(`Community ${id} was changed and is not there`);
        return communityAnswer(outcome.state);
      }),
    );

  for (const [name, does] of [
    ['let-in', 'let a brand in, so that its requests can be approved'],
    ['turn-away', 'take no requests of a brand that is not let in, and cancel those it has made'],
  ] as const)
    subcommand(community, name, does, `community ${name} 1 --brand 3`)
      .argument('<id>', 'id of the community', wholeNumber)
      .requiredOption('--brand <id>', 'id of the brand', wholeNumber)
      .action(
        operated(async ({ commands: { admissions }, context }, id, { brand }) => {
          const of = { communityId: communityId(id), brandId: brandId(brand) };
          const outcome = await (name === 'let-in' ? admissions.admit(of, context) : admissions.turnAway(of, context));
          if (isRefusal(outcome)) return outcome;
          const cancelled = 'cancelled' in outcome ? outcome.cancelled : undefined;
          return { json: { community: id, brand, ...defined({ cancelled }) } };
        }),
      );

  describeCommunityCommand(community);

  photoCommands(community, 'house');

  contactCommand(community, 'Community');

  subcommand(community, 'list', 'list all communities', 'community list').action(
    operated(async ({ queries }) => ({ json: (await queries.spaces.communities()).map(toOperatorCommunity) })),
  );
}

const communityAnswer = (community: Community): Answer => ({ json: toOperatorCommunity(community) });
