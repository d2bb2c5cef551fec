import type { Command } from '@commander-js/extra-typings';
import type { ApiKeyDocument } from '../../projections/api-keys.ts';
import { isRefusal } from '../domain/decision.ts';
import { ALL_PERMISSIONS, permissionNames } from '../domain/permissions.ts';
import { namedAccount, nameOf, requiredAccount } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

export function keyCommands(venue: Command): void {
  const key = venue.command('key').description('API keys of communities and brands');

  key
    .command('issue')
    .description('issue an API key; it is shown this once')
    .option('--community <id>', 'for this community', wholeNumber)
    .option('--brand <id>', 'for this brand', wholeNumber)
    .option('--permissions <sum>', 'sum of permission flags (default: all that the account may hold)', wholeNumber)
    .option('--label <label>', 'what people call it', 'Command line')
    .addHelpText(
      'after',
      `
Permission flags: 1 ReadAvailability, 2 ReadBookings, 4 WriteBookings (brands only), 8 ReadReviews, 16 Webhooks.

Examples:
  venue key issue --brand 1
  venue key issue --community 2 --permissions 3 --label "Front desk"`,
    )
    .action(({ permissions: wanted, label, ...named }, command) => {
      const account = requiredAccount(named);
      return operate(command, async (core, context) => {
        const owner = await nameOf(core, account);
        if (isRefusal(owner)) return owner;
        const permissions = wanted ?? ALL_PERMISSIONS;
        const issued = await core.commands.apiKeys.issue({ account, permissions, label }, context);
        if (isRefusal(issued)) return issued;
        return {
          json: { id: issued.apiKeyId, account, permissions, label, key: issued.key },
          text: fields({
            Id: issued.apiKeyId,
            Account: `${account.kind} ${account.id}, ${owner.name}`,
            Permissions: `${permissions}: ${permissionNames(permissions).join(', ')}`,
            Label: label,
            Key: issued.key,
          }),
        };
      });
    });

  key
    .command('list')
    .description('the keys there are, revoked ones included; never the key itself')
    .option('--community <id>', 'only of this community', wholeNumber)
    .option('--brand <id>', 'only of this brand', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue key list --brand 1')
    .action((named, command) => {
      const account = namedAccount(named);
      return operate(command, async ({ queries }) => {
        const all = await queries.operator.apiKeys(account);
        const rows = all.map(({ apiKeyId, owner, permissions, label, preview, issuedAt, revokedAt }) => ({
          Id: apiKeyId,
          Account: `${owner.kind} ${owner.id}`,
          Key: preview,
          Permissions: permissions,
          Label: label,
          Issued: issuedAt,
          Revoked: revokedAt,
        }));
        return { json: all.map(toJson), text: table(rows) };
      });
    });

  key
    .command('revoke')
    .description('revoke a key: it stops at once, everywhere')
    .argument('<id>', 'the id that `key list` shows')
    .addHelpText('after', '\nExample:\n  venue key revoke key_4fG2kQ0aLw1x')
    .action((id, _, command) =>
      operate(command, async ({ commands }, context) => {
        const refusal = await commands.apiKeys.revoke({ apiKeyId: id }, context);
        return refusal ?? { json: { id, revoked: true }, text: `Key ${id} is revoked.` };
      }),
    );
}

const toJson = ({ apiKeyId: id, owner: account, account: _, ...key }: ApiKeyDocument) => ({ id, account, ...key });
