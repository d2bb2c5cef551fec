import type { Command } from '@commander-js/extra-typings';
import { toOperatorBrand } from '../contract/account.ts';
import { contactCommand } from './contact.ts';
import { operated } from './operation.ts';
import { answer, subcommand } from './subcommand.ts';

export function brandCommands(venue: Command): void {
  const brand = venue.command('brand').description('manage brands, which book spaces');

  subcommand(brand, 'add', 'add a brand', 'brand add --name "Northwind Coffee"')
    .requiredOption('--name <name>', 'name of the brand')
    .action(
      operated(async ({ commands, context }, options) => {
        const added = await commands.catalogue.addBrand(options, context);
        return answer(added, (brand) => ({ json: toOperatorBrand(brand) }));
      }),
    );

  contactCommand(brand, 'Brand');

  subcommand(brand, 'list', 'list all brands', 'brand list').action(
    operated(async ({ queries }) => ({ json: (await queries.operator.brands()).map(toOperatorBrand) })),
  );
}
