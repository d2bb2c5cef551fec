import { type Command, Option } from '@commander-js/extra-typings';
import { refuse } from '../domain/decision.ts';
import { listCommand, operateFor, requiredAccount } from './accounts.ts';
import { operated } from './operation.ts';
import { answer, subcommand, withAccount } from './subcommand.ts';

export function clientCommands(venue: Command): void {
  const client = venue
    .command('client')
    .description('manage service clients: OAuth clients that act for an account without a user');

  const adding = 'add a service client for a community or brand; its secret is shown only once';
  const example = 'client add --brand 1 --grant client_credentials --name "Nightly import"';
  withAccount(subcommand(client, 'add', adding, example), 'the client acts for')
    .addOption(
      new Option('--grant <grant>', 'OAuth grant type').choices(['client_credentials']).default('client_credentials'),
    )
    .option('--name <name>', 'name to recognise the client by', 'Command line')
    .action(({ name, grant: _, ...named }, command) => {
      const account = requiredAccount(named);
      return operateFor(command, account, async ({ authorizationServer: { clients }, context }) =>
        answer(await clients.addClient({ account, name }, context), (added) => ({ json: added })),
      );
    });

  listCommand(
    client,
    'service clients, without their secrets',
    ({ authorizationServer }, account) => authorizationServer.clients.listClients(account),
    { json: (client) => client },
  );

  const removing = 'remove a service client, or an app that registered itself; its tokens stop working immediately';
  subcommand(client, 'remove', removing, 'client remove client_4fG2kQ0aLw1x')
    .argument('<id>', 'id of the client')
    .action(
      operated(async ({ authorizationServer, context }, id) =>
        (await authorizationServer.clients.removeClient(id, context))
          ? { json: { clientId: id, removed: true } }
          : refuse('ResourceNotFound', `There is no client ${id}.`),
      ),
    );
}
