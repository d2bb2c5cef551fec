import type { Command } from '@commander-js/extra-typings';
import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import { accountKey } from '../domain/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { webhookEventNames } from '../domain/webhook.ts';
import { namedAccount } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

export function webhookCommands(venue: Command): void {
  const webhook = venue.command('webhook').description('webhook registrations and their deliveries');

  webhook
    .command('list')
    .description('the registrations there are')
    .option('--community <id>', 'only of this community', wholeNumber)
    .option('--brand <id>', 'only of this brand', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue webhook list --brand 1')
    .action((named, command) => {
      const account = namedAccount(named);
      return operate(command, async ({ projector }) => {
        const where = account === undefined ? {} : { account: accountKey(account) };
        const sort = [{ field: 'account' }, { field: 'createdAt' }] as const;
        const found = projector.readModels.collection(webhooks).find({ where, sort });
        const all = await Array.fromAsync(found, ({ document }) => document);
        const rows = all.map(({ webhookId, owner, url, events, status, disabledReason, createdAt }) => ({
          Id: webhookId,
          Account: `${owner.kind} ${owner.id}`,
          Url: url,
          Events: webhookEventNames(events).join(', '),
          Status: disabledReason === undefined ? status : `${status}: ${disabledReason}`,
          Created: createdAt,
        }));
        return { json: all.map(toJson), text: table(rows) };
      });
    });

  webhook
    .command('enable')
    .description('deliver again to a registration that was disabled')
    .argument('<id>', 'the registration')
    .addHelpText('after', '\nExample:\n  venue webhook enable wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ commands }, issuer) => {
        const outcome = await commands.webhooks.enable({ webhookId: id }, issuer);
        return isRefusal(outcome) ? outcome : { json: { id, status: 'enabled' }, text: `Webhook ${id} is enabled.` };
      }),
    );

  webhook
    .command('disable')
    .description('deliver nothing to a registration until it is enabled again')
    .argument('<id>', 'the registration')
    .option('--reason <text>', 'shown to its owner', 'Disabled by the operator.')
    .addHelpText('after', '\nExample:\n  venue webhook disable wh_Zb0… --reason "Asked for by phone"')
    .action((id, { reason }, command) =>
      operate(command, async ({ commands }, issuer) => {
        const outcome = await commands.webhooks.disable({ webhookId: id, reason }, issuer);
        return isRefusal(outcome) ? outcome : { json: { id, status: 'disabled' }, text: `Webhook ${id} is disabled.` };
      }),
    );

  webhook
    .command('rotate')
    .description('make a new signing secret; the old one signs too for 24 hours')
    .argument('<id>', 'the registration')
    .addHelpText('after', '\nExample:\n  venue webhook rotate wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ commands }, issuer) => {
        const rotated = await commands.webhooks.rotate({ webhookId: id }, issuer);
        if (isRefusal(rotated)) return rotated;
        const { signingSecret, previousUntil } = rotated;
        return {
          json: { id, signingSecret, previousUntil },
          text: fields({ Webhook: id, 'Signing secret': signingSecret, 'Old one until': previousUntil }),
        };
      }),
    );
}

/** A registration without its secrets. */
const toJson = ({ webhookId: id, owner: account, url, events, status, ...rest }: WebhookDocument) => ({
  id,
  account,
  credential: rest.credential,
  url,
  events,
  status,
  ...(rest.disabledReason === undefined ? {} : { disabledReason: rest.disabledReason }),
  createdAt: rest.createdAt,
});
