import type { Command } from '@commander-js/extra-typings';
import type { Membership } from '../auth/memberships.ts';
import type { User, Users } from '../auth/users.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import { toPublicAccount } from '../contract/account.ts';
import { accountInWords, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { listCommand, operateFor, requiredAccount } from './accounts.ts';
import { invitationCommands } from './invitations.ts';
import { type Answer, type Invoked, operate, operated } from './operation.ts';
import { readPassword } from './password.ts';
import { roleOption } from './role-option.ts';
import { answer, subcommand, withAccount } from './subcommand.ts';

export function userCommands(venue: Command): void {
  const user = venue.command('user').description('manage users, who sign in to the console and connect apps');
  invitationCommands(user);
  addMembershipCommands(user);

  listCommand(user, 'users', ({ users }, account) => users.list(account), {
    json: printed,
  });

  const setting = 'set a new password (prompts, or reads stdin) and sign the user out everywhere';
  onUser(user, 'password', setting, 'user password --email ada@example.com').action(({ email }, command) =>
    operateOnUser(command, email, async (users, { id }, context) =>
      answer(await users.changePassword(id, await readPassword(`New password of ${email}: `), context), userAnswer),
    ),
  );

  const linking = 'print a link with which a user sets a new password, within an hour and once';
  onUser(user, 'reset-link', linking, 'user reset-link --email ada@example.com').action(
    operated(({ users, passwordReset }, { email }) =>
      withUser(users, email, async (user) => {
        const { url, until } = passwordReset.printed(user);
        return { json: { id: user.id, url, until }, note: 'Hand it to the user alone: it sets the password.' };
      }),
    ),
  );

  const removing = 'remove a user, end their sessions and calendar feeds, and disconnect their apps';
  onUser(user, 'remove', removing, 'user remove --email ada@example.com').action(({ email }, command) =>
    operateOnUser(command, email, async (users, { id, memberships }, context) => {
      await users.remove(id, context);
      return { json: { id, removed: true }, note: await withoutManager(users, memberships) };
    }),
  );
}

function addMembershipCommands(user: Command): void {
  const added = subcommand(
    user,
    'add',
    'add a user to a community or brand; prompts for the password or reads it from stdin',
    ['user add --email ada@example.com --brand 1', 'user add --email ada@example.com --brand 1 < password.txt'],
  ).requiredOption('--email <address>', 'e-mail address to sign in with');
  withAccount(added, 'the user acts for')
    .option(...roleOption('manager'))
    .action(({ email, role, ...named }, command) => {
      const account = requiredAccount(named);
      return operateFor(command, account, async ({ users, context }) => {
        const password = await readPassword(`Password of ${email}: `);
        return answer(
          await users.add({ email, password, accounts: [account], ...defined({ role }) }, context),
          userAnswer,
        );
      });
    });

  const joining = 'let a user act for another community or brand';
  withAccount(onUser(user, 'join', joining, 'user join --email ada@example.com --brand 2'), 'to act for')
    .option(...roleOption('manager'))
    .action(({ email, role = 'Manager', ...named }, command) => {
      const account = requiredAccount(named);
      return operateFor(command, account, ({ users, context }) =>
        withUser(users, email, async ({ id }) =>
          answer(await users.addAccount(id, account, role, context), userAnswer),
        ),
      );
    });

  const promoting =
    'give a member of a community or brand another role, and disconnect the apps that the user connected to it';
  const promoted = onUser(user, 'role', promoting, 'user role --email ada@example.com --brand 2 --role viewer');
  withAccount(promoted, 'that the user belongs to')
    .requiredOption(...roleOption())
    .action(({ email, role, ...named }, command) => {
      const account = requiredAccount(named);
      return operateOnUser(command, email, async (users, { id }, context) =>
        answer(await users.setRole(id, account, role, context), userAnswer),
      );
    });

  const leaving =
    'stop a user acting for a community or brand, end their feeds of it, and disconnect the apps they connected to it';
  const left = onUser(user, 'leave', leaving, 'user leave --email ada@example.com --brand 2');
  withAccount(left, 'to stop acting for').action(({ email, ...named }, command) => {
    const account = requiredAccount(named);
    return operateOnUser(command, email, async (users, { id, memberships }, context) => {
      const outcome = await users.removeAccount(id, account, context);
      if (isRefusal(outcome)) return outcome;
      const ended = memberships.filter((one) => accountKey(one.account) === accountKey(account));
      return { ...userAnswer(outcome), note: await withoutManager(users, ended) };
    });
  });
}

/** Tells the operator which accounts that a Manager has left have none now. */
async function withoutManager(users: Users, left: readonly Membership[]): Promise<string | undefined> {
  const without: string[] = [];
  for (const { account, role } of left) {
    const members = role === 'Manager' ? await users.membersOf(account) : [{ role: 'Manager' }];
    if (members.every((one) => one.role !== 'Manager')) without.push(accountInWords(account));
  }
  return without.length === 0
    ? undefined
    : `No Manager is left: ${without.join(', ')}. \`venue user role\` or \`venue user add\` makes one.`;
}

/** Adds a command with the required option `--email`, which names the user. */
const onUser = (user: Command, name: string, description: string, example: string) =>
  subcommand(user, name, description, example).requiredOption('--email <address>', 'e-mail address of the user');

const operateOnUser = (
  command: Invoked,
  email: string,
  work: (users: Users, user: User, context: CommandContext) => Promise<Answer | Refusal>,
): Promise<void> =>
  operate(command, ({ users, context }) => withUser(users, email, (user) => work(users, user, context)));

async function withUser(
  users: Users,
  email: string,
  work: (user: User) => Promise<Answer | Refusal>,
): Promise<Answer | Refusal> {
  const user = await users.byEmail(email);
  return user === undefined ? refuse('ResourceNotFound', `There is no user ${email}.`) : work(user);
}

const printed = ({ id, email, memberships, createdAt, passwordChangedAt, emailConfirmedAt }: User) => ({
  id,
  email,
  accounts: memberships.map(({ account, role }) => ({ ...toPublicAccount(account), role })),
  createdAt,
  passwordChangedAt,
  ...defined({ emailConfirmedAt }),
});

const userAnswer = (user: User): Answer => ({ json: printed(user) });
