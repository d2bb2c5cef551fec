import type { Command } from '@commander-js/extra-typings';
import { toOperatorApiKey, toOperatorIssuedApiKey } from '../contract/api-key.ts';
import { LABEL, listOf } from '../domain/limits.ts';
import { ALL_PERMISSIONS, Permission } from '../domain/permissions.ts';
import { listCommand, operateFor, requiredAccount } from './accounts.ts';
import { sumOrNames } from './arguments.ts';
import { operated } from './operation.ts';
import { answer, subcommand, withAccount } from './subcommand.ts';

export function apiKeyCommands(venue: Command): void {
  const description = 'manage API keys of communities and brands';
  addCommands(venue.command('api-key').description(description));
  // The former name, kept for scripts.
  addCommands(venue.command('key', { hidden: true }).description(description));
}

function addCommands(apiKey: Command): void {
  const issued = subcommand(
    apiKey,
    'issue',
    'issue an API key, which is shown only once',
    [
      'api-key issue --brand 1',
      'api-key issue --community 2 --permissions ReadAvailability,ReadBookings --label "Front desk"',
    ],
    `Exactly one of --community and --brand is required.
Permission flags: ${listOf(Permission)}.
The key of a community may have WriteBookings, too: it moves bookings with it, but cannot request any (ScopeViolation).`,
  );
  withAccount(issued, 'the key acts for')
    .option(
      '--permissions <flags>',
      `sum of permission flags, or their names separated by commas (default: ${ALL_PERMISSIONS}, all of them)`,
      sumOrNames(Permission),
    )
    .option('--label <label>', `label to recognise the key by, ${LABEL.min} to ${LABEL.max} characters`, 'Command line')
    .action(({ permissions = ALL_PERMISSIONS, label, ...named }, command) => {
      const account = requiredAccount(named);
      return operateFor(command, account, async ({ commands, context }) =>
        answer(await commands.apiKeys.issue({ account, permissions, label }, context), (key) => ({
          json: toOperatorIssuedApiKey({ ...key, account, permissions, label }),
        })),
      );
    });

  listCommand(apiKey, 'API keys, including revoked ones', ({ queries }, account) => queries.operator.apiKeys(account), {
    json: toOperatorApiKey,
  });

  const revoking = 'revoke an API key; every process refuses it within 2 seconds';
  subcommand(apiKey, 'revoke', revoking, `${apiKey.name()} revoke key_4fG2kQ0aLw1x`)
    .argument('<id>', 'id of the key, from `api-key list`')
    .action(
      operated(async ({ commands, context }, id) => {
        const refusal = await commands.apiKeys.revoke({ apiKeyId: id, waits: false }, context);
        return refusal ?? { json: { id, revoked: true } };
      }),
    );
}
