import type { Command } from '@commander-js/extra-typings';
import { toOperatorCommunity } from '../contract/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

export function communityCommands(venue: Command): void {
  const community = venue.command('community').description('manage communities, which own spaces');

  community
    .command('add')
    .description('add a community')
    .requiredOption('--name <name>', 'name of the community')
    .requiredOption('--time-zone <zone>', 'IANA time zone of its spaces, such as Europe/Berlin')
    .addHelpText('after', '\nExample:\n  venue community add --name "Harbour Lofts" --time-zone Europe/Berlin')
    .action((options, command) =>
      operate(command, async ({ commands }, context) => {
        const added = await commands.catalogue.addCommunity(options, context);
        if (isRefusal(added)) return added;
        const json = toOperatorCommunity(added);
        return { json, text: fields({ Community: json.id, Name: json.name, 'Time zone': json.timeZone }) };
      }),
    );

  community
    .command('list')
    .description('list all communities')
    .addHelpText('after', '\nExample:\n  venue community list')
    .action((_, command) =>
      operate(command, async ({ queries }) => {
        const all = (await queries.spaces.communities()).map(toOperatorCommunity);
        const rows = all.map(({ id, name, timeZone }) => ({ Id: id, Name: name, 'Time zone': timeZone }));
        return { json: all, text: table(rows) };
      }),
    );
}
