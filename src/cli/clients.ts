import { type Command, Option } from '@commander-js/extra-typings';
import { refuse } from '../domain/decision.ts';
import { accountText, namedAccount, operateFor, printOwned, requiredAccount } from './accounts.ts';
import { operate } from './operation.ts';
import { fields } from './print.ts';
import { answer, subcommand, withAccount } from './subcommand.ts';

export function clientCommands(venue: Command): void {
  const client = venue
    .command('client')
    .description('manage service clients: OAuth clients that act for an account without a user');

  withAccount(
    subcommand(
      client,
      'add',
      'add a service client for a community or brand; its secret is shown only once',
      'client add --brand 1 --grant client_credentials --name "Nightly import"',
    ),
    { community: 'community the client acts for', brand: 'brand the client acts for' },
  )
    .addOption(
      new Option('--grant <grant>', 'OAuth grant type').choices(['client_credentials']).default('client_credentials'),
    )
    .option('--name <name>', 'name to recognise the client by', 'Command line')
    .action(({ name, grant: _, ...named }, command) => {
      const account = requiredAccount(named);
      return operateFor(command, account, async ({ authorizationServer: { clients } }, accountName, context) =>
        answer(await clients.addClient({ account, grant: 'client_credentials', name }, context), (added) => ({
          json: added,
          text: fields({
            'Client id': added.clientId,
            Secret: added.clientSecret,
            Account: `${accountText(account)}, ${accountName}`,
            Name: name,
          }),
        })),
      );
    });

  withAccount(subcommand(client, 'list', 'list service clients, without their secrets', 'client list --brand 1'), {
    community: 'only clients of this community',
    brand: 'only clients of this brand',
  }).action((named, command) => {
    const account = namedAccount(named);
    return printOwned(command, account, ({ authorizationServer }) => authorizationServer.clients.listClients(account), {
      json: (found) => found,
      row: (found) => ({
        'Client id': found.clientId,
        Account: found.account.replace(':', ' '),
        Name: found.name,
        Added: found.createdAt,
      }),
    });
  });

  subcommand(
    client,
    'remove',
    'remove a service client, or an app that registered itself; its tokens stop working immediately',
    'client remove client_4fG2kQ0aLw1x',
  )
    .argument('<id>', 'client id')
    .action((id, _, command) =>
      operate(command, async ({ authorizationServer }, context) =>
        (await authorizationServer.clients.removeClient(id, context))
          ? { json: { clientId: id, removed: true }, text: `Removed client ${id}.` }
          : refuse('ResourceNotFound', `There is no client ${id}.`),
      ),
    );
}
