import type { Command } from '@commander-js/extra-typings';
import { toOperatorCommunity } from '../contract/account.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';
import { answer, subcommand } from './subcommand.ts';

export function communityCommands(venue: Command): void {
  const community = venue.command('community').description('manage communities, which own spaces');

  subcommand(community, 'add', 'add a community', 'community add --name "Harbour Lofts" --time-zone Europe/Berlin')
    .requiredOption('--name <name>', 'name of the community')
    .requiredOption('--time-zone <zone>', 'IANA time zone of its spaces, such as Europe/Berlin')
    .action((options, command) =>
      operate(command, async ({ commands }, context) => {
        return answer(await commands.catalogue.addCommunity(options, context), (added) => {
          const json = toOperatorCommunity(added);
          return { json, text: fields({ Community: json.id, Name: json.name, 'Time zone': json.timeZone }) };
        });
      }),
    );

  subcommand(community, 'list', 'list all communities', 'community list').action((_, command) =>
    operate(command, async ({ queries }) => {
      const all = (await queries.spaces.communities()).map(toOperatorCommunity);
      const rows = all.map(({ id, name, timeZone }) => ({ Id: id, Name: name, 'Time zone': timeZone }));
      return { json: all, text: table(rows) };
    }),
  );
}
