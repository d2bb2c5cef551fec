import type { Command } from '@commander-js/extra-typings';
import type { Invitation } from '../auth/invitations.ts';
import { toPublicAccount } from '../contract/account.ts';
import { refuse } from '../domain/decision.ts';
import { namedAccount, operateFor, printOwned, requiredAccount } from './accounts.ts';
import { type Answer, operated } from './operation.ts';
import { roleOption } from './role-option.ts';
import { answer, subcommand, withAccount } from './subcommand.ts';

/** The commands of `venue user` about people who are not members yet. */
export function invitationCommands(user: Command): void {
  withAccount(
    subcommand(
      user,
      'invite',
      'invite a person to act for a community or brand; prints the link where no mail is sent',
      'user invite --email bob@example.com --brand 1 --role coordinator',
      'The link works once, for a week. While the invitation is open, the command prints the same link again.',
    )
      .requiredOption('--email <address>', 'e-mail address of the person')
      .requiredOption(...roleOption()),
    'the person will act for',
  ).action(({ email, role, ...named }, command) => {
    const account = requiredAccount(named);
    return operateFor(command, account, async ({ invitations, context }) =>
      answer(await invitations.invite({ account, role, email }, undefined, context), (invitation): Answer => {
        const { id, expiresAt } = invitation;
        const about = { id, account: toPublicAccount(account), email: invitation.email, role: invitation.role };
        return invitations.sendsMail
          ? { json: { ...about, expiresAt }, note: 'A mail with the link is on its way.' }
          : {
              json: { ...about, expiresAt, url: invitations.printed(invitation).url },
              note: 'Hand the link to this person alone.',
            };
      }),
    );
  });

  const listing = subcommand(user, 'invitations', 'list open invitations', 'user invitations --brand 1');
  withAccount(listing, 'whose invitations to list (default: all)').action((named, command) => {
    const account = namedAccount(named);
    return printOwned(command, account, ({ invitations }) => invitations.listOpen(account), { json: printed });
  });

  const withdrawing = 'withdraw an open invitation; its link no longer works';
  subcommand(user, 'withdraw', withdrawing, 'user withdraw inv_4fG2kQ0aLw1xYz09')
    .argument('<id>', 'id of the invitation, from `user invitations`')
    .action(
      operated(async ({ invitations, context }, id) => {
        const invitation = await invitations.get(id);
        if (invitation === undefined) return refuse('ResourceNotFound', `There is no open invitation ${id}.`);
        const refusal = await invitations.withdraw(invitation.account, id, context);
        return refusal ?? { json: { id, withdrawn: true } };
      }),
    );
}

const printed = ({ id, account, email, role, createdAt, expiresAt }: Invitation) => ({
  id,
  account: toPublicAccount(account),
  email,
  role,
  createdAt,
  expiresAt,
});
