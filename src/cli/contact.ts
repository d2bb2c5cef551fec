import type { Command } from '@commander-js/extra-typings';
import type { AccountKind } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { operateFor, requiredAccount } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { subcommand, wrongUsage } from './subcommand.ts';

/** Adds the command `contact`: shows, sets or removes the contact address of an account. */
export function contactCommand(group: Command, kind: AccountKind): void {
  const name = kind.toLowerCase();
  subcommand(
    group,
    'contact',
    `show or set the contact address of a ${name}: the Reply-To of mail to the other party`,
    `${name} contact 1 --email office@example.com`,
  )
    .argument('<id>', `id of the ${name}`, wholeNumber)
    .option('--email <address>', 'the new address')
    .option('--none', 'remove the address')
    .action((id, { email, none }, command) => {
      if (email !== undefined && none) throw wrongUsage('use either --email ADDRESS or --none, not both');
      const account = requiredAccount(kind === 'Brand' ? { brand: id } : { community: id });
      return operateFor(command, account, async ({ mailContent: { contacts } }) => {
        const refusal = email !== undefined || none ? await contacts.set(account, email ?? '') : undefined;
        return refusal ?? { json: { id, ...defined({ contact: await contacts.of(account) }) } };
      });
    });
}
