import type { Command } from '@commander-js/extra-typings';
import { toOperatorBrand } from '../contract/account.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';
import { answer, subcommand } from './subcommand.ts';

export function brandCommands(venue: Command): void {
  const brand = venue.command('brand').description('manage brands, which book spaces');

  subcommand(brand, 'add', 'add a brand', 'brand add --name "Northwind Coffee"')
    .requiredOption('--name <name>', 'name of the brand')
    .action((options, command) =>
      operate(command, async ({ commands }, context) => {
        return answer(await commands.catalogue.addBrand(options, context), (added) => {
          const json = toOperatorBrand(added);
          return { json, text: fields({ Brand: json.id, Name: json.name }) };
        });
      }),
    );

  subcommand(brand, 'list', 'list all brands', 'brand list').action((_, command) =>
    operate(command, async ({ queries }) => {
      const all = (await queries.operator.brands()).map(toOperatorBrand);
      return { json: all, text: table(all.map(({ id, name }) => ({ Id: id, Name: name }))) };
    }),
  );
}
