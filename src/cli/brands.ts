import type { Command } from '@commander-js/extra-typings';
import type { BrandDocument } from '../../projections/brands.ts';
import { toOperatorBrand } from '../contract/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { brandId } from '../domain/ids.ts';
import { wholeNumber } from './arguments.ts';
import { contactCommand } from './contact.ts';
import { type Answer, operated } from './operation.ts';
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

  subcommand(
    brand,
    'suspend',
    'refuse a brand everything that it may do, until it is reinstated; nothing of it is lost',
    'brand suspend 3 --reason "Requests that it does not keep" --cancel-requests',
    `Its unanswered requests go on holding their hours, and communities can still answer them. --cancel-requests withdraws them;
approved bookings stay. A request that was on its way may come in for two seconds: run the command again to withdraw it, too.`,
  )
    .argument('<id>', 'id of the brand', wholeNumber)
    .option('--reason <text>', 'why; the brand reads it in its history once it is reinstated')
    .option('--cancel-requests', 'also withdraw its unanswered requests, so that their hours are free')
    .action(
      operated(async ({ commands, queries, context }, id, { reason, cancelRequests }) => {
        const outcome = await commands.catalogue.suspendBrand({ brandId: id, ...defined({ reason }) }, context);
        if (isRefusal(outcome)) return outcome;
        const cancelledRequests = cancelRequests && (await commands.withdrawRequestsOf(brandId(id), context));
        return brandAnswer(await queries.operator.brand(id), defined({ cancelledRequests }));
      }),
    );

  subcommand(brand, 'reinstate', 'let a suspended brand work again', 'brand reinstate 3')
    .argument('<id>', 'id of the brand', wholeNumber)
    .action(
      operated(async ({ commands, queries, context }, id) => {
        const outcome = await commands.catalogue.reinstateBrand({ brandId: id }, context);
        return isRefusal(outcome) ? outcome : brandAnswer(await queries.operator.brand(id));
      }),
    );

  contactCommand(brand, 'Brand');

  subcommand(brand, 'list', 'list all brands', 'brand list').action(
    operated(async ({ queries }) => ({ json: (await queries.operator.brands()).map(toOperatorBrand) })),
  );
}

const brandAnswer = (brand: BrandDocument | undefined, more: object = {}): Answer => {
  if (brand === undefined) throw new Error('The brand was changed and is not there');
  return { json: { ...toOperatorBrand(brand), ...more } };
};
