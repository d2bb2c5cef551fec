import { type Command, Option } from '@commander-js/extra-typings';
import { isRefusal, refuse } from '../domain/decision.ts';
import { namedAccount, nameOf, ownedBy, requiredAccount } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

export function clientCommands(venue: Command): void {
  const client = venue
    .command('client')
    .description('manage service clients: OAuth clients that act for an account without a user');
  addCommand(client);
  listCommand(client);
  removeCommand(client);
}

function addCommand(client: Command): void {
  client
    .command('add')
    .description('add a service client for a community or brand; its secret is shown only once')
    .option('--community <id>', 'community the client acts for', wholeNumber)
    .option('--brand <id>', 'brand the client acts for', wholeNumber)
    .addOption(
      new Option('--grant <grant>', 'OAuth grant type').choices(['client_credentials']).default('client_credentials'),
    )
    .option('--name <name>', 'name to recognise the client by', 'Command line')
    .addHelpText('after', '\nExample:\n  venue client add --brand 1 --grant client_credentials --name "Nightly import"')
    .action(({ name, grant: _, ...named }, command) => {
      const account = requiredAccount(named);
      return operate(command, async (core, context) => {
        const owner = await nameOf(core, account);
        if (isRefusal(owner)) return owner;
        const { clients } = core.authorizationServer;
        const added = await clients.addClient({ account, grant: 'client_credentials', name }, context);
        if (isRefusal(added)) return added;
        return {
          json: added,
          text: fields({
            'Client id': added.clientId,
            Secret: added.clientSecret,
            Account: `${account.kind} ${account.id}, ${owner.name}`,
            Name: name,
          }),
        };
      });
    });
}

function listCommand(client: Command): void {
  client
    .command('list')
    .description('list service clients, without their secrets')
    .option('--community <id>', 'only clients of this community', wholeNumber)
    .option('--brand <id>', 'only clients of this brand', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue client list --brand 1')
    .action((named, command) => {
      const account = namedAccount(named);
      return operate(command, async (core) => {
        const all = await ownedBy(core, account, () => core.authorizationServer.clients.listClients(account));
        if (isRefusal(all)) return all;
        const rows = all.map((found) => ({
          'Client id': found.clientId,
          Account: found.account.replace(':', ' '),
          Name: found.name,
          Added: found.createdAt,
        }));
        return { json: all, text: table(rows) };
      });
    });
}

function removeCommand(client: Command): void {
  client
    .command('remove')
    .description('remove a service client, or an app that registered itself; its tokens stop working immediately')
    .argument('<id>', 'client id')
    .addHelpText('after', '\nExample:\n  venue client remove client_4fG2kQ0aLw1x')
    .action((id, _, command) =>
      operate(command, async ({ authorizationServer }, context) =>
        (await authorizationServer.clients.removeClient(id, context))
          ? { json: { clientId: id, removed: true }, text: `Removed client ${id}.` }
          : refuse('ResourceNotFound', `There is no client ${id}.`),
      ),
    );
}
