import { type Command, Option } from '@commander-js/extra-typings';
import { isRefusal, refuse } from '../domain/decision.ts';
import { namedAccount, nameOf, requiredAccount } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

export function clientCommands(venue: Command): void {
  const client = venue.command('client').description('confidential OAuth clients: services that act without a user');

  client
    .command('add')
    .description('add a client that acts for a community or a brand; its secret is shown this once')
    .option('--community <id>', 'for this community', wholeNumber)
    .option('--brand <id>', 'for this brand', wholeNumber)
    .addOption(
      new Option('--grant <grant>', 'how it gets tokens').choices(['client_credentials']).default('client_credentials'),
    )
    .option('--name <name>', 'what people call it', 'Command line')
    .addHelpText('after', '\nExample:\n  venue client add --brand 1 --grant client_credentials --name "Nightly import"')
    .action(({ name, grant: _, ...named }, command) => {
      const account = requiredAccount(named);
      return operate(command, async (core) => {
        const owner = await nameOf(core, account);
        if (isRefusal(owner)) return owner;
        const { clients } = core.authorizationServer;
        const added = await clients.addClient({ account, grant: 'client_credentials', name });
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

  client
    .command('list')
    .description('the confidential clients there are; never their secrets')
    .option('--community <id>', 'only of this community', wholeNumber)
    .option('--brand <id>', 'only of this brand', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue client list --brand 1')
    .action((named, command) => {
      const account = namedAccount(named);
      return operate(command, async ({ authorizationServer }) => {
        const all = await authorizationServer.clients.listClients(account);
        const rows = all.map((found) => ({
          'Client id': found.clientId,
          Account: found.account.replace(':', ' '),
          Name: found.name,
          Added: found.createdAt,
        }));
        return { json: all, text: table(rows) };
      });
    });

  client
    .command('remove')
    .description('remove a client, confidential or registered by an app: its tokens stop at once')
    .argument('<id>', 'the client id')
    .addHelpText('after', '\nExample:\n  venue client remove client_4fG2kQ0aLw1x')
    .action((id, _, command) =>
      operate(command, async ({ authorizationServer }) =>
        (await authorizationServer.clients.removeClient(id))
          ? { json: { clientId: id, removed: true }, text: `Client ${id} is removed.` }
          : refuse('ResourceNotFound', `There is no client ${id}.`),
      ),
    );
}
