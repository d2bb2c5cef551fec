import type { Command } from '@commander-js/extra-typings';
import type { User, Users } from '../auth/users.ts';
import { toOperatorUser } from '../contract/user.ts';
import type { Account } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { namedAccount, nameOf, requiredAccount } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { type Answer, operate } from './operation.ts';
import { readPassword } from './password.ts';
import { fields, table } from './print.ts';

export function userCommands(venue: Command): void {
  const user = venue.command('user').description('manage users, who sign in to the console and connect apps');
  addCommand(user);
  joinCommand(user);
  leaveCommand(user);
  listCommand(user);
  passwordCommand(user);
  removeCommand(user);
}

function addCommand(user: Command): void {
  user
    .command('add')
    .description('add a user to a community or brand; prompts for the password or reads it from stdin')
    .requiredOption('--email <address>', 'e-mail address to sign in with')
    .option('--community <id>', 'community the user acts for', wholeNumber)
    .option('--brand <id>', 'brand the user acts for', wholeNumber)
    .addHelpText(
      'after',
      `
Examples:
  venue user add --email ada@example.com --brand 1
  printf '%s' "$PASSWORD" | venue user add --email ada@example.com --community 2`,
    )
    .action(({ email, ...named }, command) => {
      const account = requiredAccount(named);
      return operate(command, async (core, context) => {
        const owner = await nameOf(core, account);
        if (isRefusal(owner)) return owner;
        const password = await readPassword(`Password of ${email}: `);
        return shown(await core.users.add({ email, password, accounts: [account] }, context));
      });
    });
}

function joinCommand(user: Command): void {
  user
    .command('join')
    .description('let a user act for another community or brand')
    .requiredOption('--email <address>', 'e-mail address of the user')
    .option('--community <id>', 'community to act for', wholeNumber)
    .option('--brand <id>', 'brand to act for', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue user join --email ada@example.com --brand 2')
    .action(({ email, ...named }, command) => {
      const account = requiredAccount(named);
      return operate(command, async (core, context) => {
        const owner = await nameOf(core, account);
        if (isRefusal(owner)) return owner;
        return withUser(core.users, email, async ({ id }) => shown(await core.users.addAccount(id, account, context)));
      });
    });
}

function leaveCommand(user: Command): void {
  user
    .command('leave')
    .description('stop a user acting for a community or brand, and disconnect the apps they connected to it')
    .requiredOption('--email <address>', 'e-mail address of the user')
    .option('--community <id>', 'community to stop acting for', wholeNumber)
    .option('--brand <id>', 'brand to stop acting for', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue user leave --email ada@example.com --brand 2')
    .action(({ email, ...named }, command) => {
      const account = requiredAccount(named);
      return operate(command, ({ users }, context) =>
        withUser(users, email, async ({ id }) => shown(await users.removeAccount(id, account, context))),
      );
    });
}

function listCommand(user: Command): void {
  user
    .command('list')
    .description('list users')
    .option('--community <id>', 'only users of this community', wholeNumber)
    .option('--brand <id>', 'only users of this brand', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue user list --brand 1')
    .action((named, command) => {
      const account = namedAccount(named);
      return operate(command, async ({ users }) => {
        const all = await users.list(account);
        const rows = all.map(({ id, email, accounts, createdAt }) => ({
          Id: id,
          'E-mail': email,
          Accounts: accounts.map(inWords).join(', '),
          Added: createdAt,
        }));
        return { json: all.map(toOperatorUser), text: table(rows) };
      });
    });
}

function passwordCommand(user: Command): void {
  user
    .command('password')
    .description('set a new password (prompts, or reads stdin) and sign the user out everywhere')
    .requiredOption('--email <address>', 'e-mail address of the user')
    .addHelpText('after', '\nExample:\n  venue user password --email ada@example.com')
    .action(({ email }, command) =>
      operate(command, ({ users }, context) =>
        withUser(users, email, async ({ id }) =>
          shown(await users.changePassword(id, await readPassword(`New password of ${email}: `), context)),
        ),
      ),
    );
}

function removeCommand(user: Command): void {
  user
    .command('remove')
    .description('remove a user, end their sessions and disconnect their apps')
    .requiredOption('--email <address>', 'e-mail address of the user')
    .addHelpText('after', '\nExample:\n  venue user remove --email ada@example.com')
    .action(({ email }, command) =>
      operate(command, ({ users }, context) =>
        withUser(users, email, async ({ id }) => {
          await users.remove(id, context);
          return { json: { id, removed: true }, text: `Removed user ${email}.` };
        }),
      ),
    );
}

async function withUser(
  users: Users,
  email: string,
  work: (user: User) => Promise<Answer | Refusal>,
): Promise<Answer | Refusal> {
  const user = await users.byEmail(email);
  return user === undefined ? refuse('ResourceNotFound', `There is no user ${email}.`) : work(user);
}

const inWords = ({ kind, id }: Account) => `${kind} ${id}`;

function shown(user: User | Refusal): Answer | Refusal {
  if (isRefusal(user)) return user;
  const text = fields({ Id: user.id, 'E-mail': user.email, Accounts: user.accounts.map(inWords).join(', ') });
  return { json: toOperatorUser(user), text };
}
