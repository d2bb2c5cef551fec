import type { Command } from '@commander-js/extra-typings';
import { toOperatorBrand } from '../contract/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

export function brandCommands(venue: Command): void {
  const brand = venue.command('brand').description('manage brands, which book spaces');

  brand
    .command('add')
    .description('add a brand')
    .requiredOption('--name <name>', 'name of the brand')
    .addHelpText('after', '\nExample:\n  venue brand add --name "Northwind Coffee"')
    .action((options, command) =>
      operate(command, async ({ commands }, context) => {
        const added = await commands.catalogue.addBrand(options, context);
        if (isRefusal(added)) return added;
        const json = toOperatorBrand(added);
        return { json, text: fields({ Brand: json.id, Name: json.name }) };
      }),
    );

  brand
    .command('list')
    .description('list all brands')
    .addHelpText('after', '\nExample:\n  venue brand list')
    .action((_, command) =>
      operate(command, async ({ queries }) => {
        const all = (await queries.operator.brands()).map(toOperatorBrand);
        return { json: all, text: table(all.map(({ id, name }) => ({ Id: id, Name: name }))) };
      }),
    );
}
