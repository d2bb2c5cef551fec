import { type Command, CommanderError } from '@commander-js/extra-typings';
import { toOperatorForgotten } from '../contract/personal-data.ts';
import type { Account } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { type Subject, subjectInWords, subjectOf, subjectOfUser } from '../domain/personal-text.ts';
import { namedAccount, nameOf } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { type OperatorCore, operate } from './operation.ts';

export function personalDataCommands(venue: Command): void {
  venue
    .command('forget')
    .description('erase for good what a brand, user or community wrote: messages, reviews, reasons')
    .option('--brand <id>', 'what this brand wrote', wholeNumber)
    .option('--user <id>', 'what this user wrote: the reasons of cancellations; ids are in `venue user list`')
    .option('--community <id>', 'what this community wrote with an API key, or an operator for it', wholeNumber)
    .addHelpText(
      'after',
      `
Destroys the key of these texts. They read as "erased" at once, wherever they are shown or sent, and nothing brings them back.
The log still verifies. These stay: names of brands and communities, bookings and what they cost; the address of a user, until
\`venue user remove\`. Copies of the store that were made before hold the key: forget again after restoring one.

Examples:
  venue forget --brand 7
  venue forget --user usr_Zb0…`,
    )
    .action((named, command) => {
      const whom = requiredSubject(named);
      return operate(command, async (core, context) => {
        const found = await subjectOfOption(core, whom);
        if (isRefusal(found)) return found;
        const { subject, stays } = found;
        const plainTexts = await core.queries.operator.plainTexts(subject, (looked) =>
          command.configureOutput().writeErr?.(`${looked.toLocaleString('en')} events looked at\n`),
        );
        const isKnown = found.exists || plainTexts > 0 || (await core.queries.operator.isSubject(subject));
        if (!isKnown) return refuse('ResourceNotFound', `There is no ${subjectInWords(subject)}.`);
        const forgottenAt = await core.commands.personalData.forget(subject, context);
        if (isRefusal(forgottenAt)) return forgottenAt;
        return {
          json: toOperatorForgotten({ subject, forgottenAt, plainTexts }),
          text: [`Erased what ${subjectInWords(subject)} wrote.`, ...stays, ...plainTextsNote(plainTexts)].join('\n'),
        };
      });
    });
}

type Named = {
  readonly community?: number | undefined;
  readonly brand?: number | undefined;
  readonly user?: string | undefined;
};

/** An account, or the id of a user. Naming none or several is wrong usage. */
function requiredSubject({ user, ...named }: Named): Account | string {
  const account = namedAccount(named);
  if (user !== undefined && account !== undefined) throw wrongUsage('name one brand, user or community, not several');
  const found = user ?? account;
  if (found === undefined) throw wrongUsage('one of --brand ID, --user ID and --community ID is required');
  return found;
}

const wrongUsage = (message: string) => new CommanderError(2, 'venue.subject', message);

/** The subject, whether there is such an account or user, and what is not erased with it. Refuses an account that does not exist. */
async function subjectOfOption(
  core: OperatorCore,
  whom: Account | string,
): Promise<{ readonly subject: Subject; readonly exists: boolean; readonly stays: readonly string[] } | Refusal> {
  if (typeof whom !== 'string') {
    const account = await nameOf(core, whom);
    if (isRefusal(account)) return account;
    return { subject: subjectOf(whom), exists: true, stays: [`The name ${account.name} stays: it is in the log.`] };
  }
  const user = await core.users.get(whom);
  const stays =
    user &&
    `The user ${user.email} can still sign in: \`venue user remove --email ${user.email}\` ends that and deletes the address.`;
  return { subject: subjectOfUser(whom), exists: user !== undefined, stays: stays === undefined ? [] : [stays] };
}

const plainTextsNote = (count: number): string[] =>
  count === 0
    ? []
    : [
        `${count === 1 ? 'One event' : `${count} events`} of before texts were encrypted ${count === 1 ? 'holds' : 'hold'} texts in plain, which cannot be erased.`,
      ];
