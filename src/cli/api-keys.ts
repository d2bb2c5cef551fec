import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from '@commander-js/extra-typings';
import { toOperatorApiKey, toOperatorIssuedApiKey } from '../contract/api-key.ts';
import { isRefusal } from '../domain/decision.ts';
import { LABEL, listOf } from '../domain/limits.ts';
import { ALL_PERMISSIONS, Permission, permissionNames } from '../domain/permissions.ts';
import { namedAccount, nameOf, ownedBy, requiredAccount } from './accounts.ts';
import { sumOrNames, wholeNumber } from './arguments.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

/** After this no process takes a revoked key any more (src/credentials/live-states.ts). */
const ENDED_EVERYWHERE_MS = 1_500;

export function apiKeyCommands(venue: Command): void {
  const description = 'manage API keys of communities and brands';
  addCommands(venue.command('api-key').description(description));
  // The name it had before: scripts that use it keep working.
  addCommands(venue.command('key', { hidden: true }).description(description));
}

function addCommands(apiKey: Command): void {
  apiKey
    .command('issue')
    .description('issue an API key, which is shown only once')
    .option('--community <id>', 'community the key acts for', wholeNumber)
    .option('--brand <id>', 'brand the key acts for', wholeNumber)
    .option(
      '--permissions <flags>',
      `sum of permission flags, or their names separated by commas (default: ${ALL_PERMISSIONS}, all of them)`,
      sumOrNames(Permission),
    )
    .option('--label <label>', `label to recognise the key by, ${LABEL.min} to ${LABEL.max} characters`, 'Command line')
    .addHelpText(
      'after',
      `
Exactly one of --community and --brand is required.
Permission flags: ${listOf(Permission)}.
The key of a community may have WriteBookings, too, but is refused (ScopeViolation) when it is used.

Examples:
  venue api-key issue --brand 1
  venue api-key issue --community 2 --permissions ReadAvailability,ReadBookings --label "Front desk"`,
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
          json: toOperatorIssuedApiKey({ ...issued, account, permissions, label }),
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

  apiKey
    .command('list')
    .description('list API keys, including revoked ones')
    .option('--community <id>', 'only keys of this community', wholeNumber)
    .option('--brand <id>', 'only keys of this brand', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue api-key list --brand 1')
    .action((named, command) => {
      const account = namedAccount(named);
      return operate(command, async (core) => {
        const all = await ownedBy(core, account, () => core.queries.operator.apiKeys(account));
        if (isRefusal(all)) return all;
        const rows = all.map(({ apiKeyId, owner, permissions, label, preview, issuedAt, revokedAt }) => ({
          Id: apiKeyId,
          Account: `${owner.kind} ${owner.id}`,
          Key: preview,
          Permissions: permissions,
          Label: label,
          Issued: issuedAt,
          Revoked: revokedAt,
        }));
        return { json: all.map(toOperatorApiKey), text: table(rows) };
      });
    });

  apiKey
    .command('revoke')
    .description('revoke an API key, effective immediately')
    .argument('<id>', 'id of the key, from `api-key list`')
    .addHelpText('after', '\nExample:\n  venue api-key revoke key_4fG2kQ0aLw1x')
    .action((id, _, command) =>
      operate(command, async ({ commands }, context) => {
        const refusal = await commands.apiKeys.revoke({ apiKeyId: id }, context);
        if (refusal !== undefined) return refusal;
        await delay(ENDED_EVERYWHERE_MS);
        return { json: { id, revoked: true }, text: `Revoked API key ${id}.` };
      }),
    );
}
