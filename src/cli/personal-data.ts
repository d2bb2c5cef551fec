import type { Command } from '@commander-js/extra-typings';
import type { Account } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { type Subject, subjectInWords, subjectOf, subjectOfUser } from '../domain/personal-text.ts';
import { namedAccount, nameOf } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { type Answer, type Invoked, type OperatorCore, operate, tell } from './operation.ts';
import { subcommand, wrongUsage } from './subcommand.ts';

export function personalDataCommands(venue: Command): void {
  subcommand(
    venue,
    'forget',
    'erase the texts of a brand, user or community for good: messages, reviews, reasons, the contact address',
    ['forget --brand 7', 'forget --user usr_Zb0…'],
    `Destroys the key of these texts. They read "erased" at once wherever they are shown or sent. This cannot be undone. The log still
verifies. Names of brands and communities stay, and so do bookings and their prices. The address of a user stays until
\`venue user remove\`. Earlier copies of the store hold the key: forget again after restoring one.`,
  )
    .option('--brand <id>', 'erase the texts of this brand', wholeNumber)
    .option('--user <id>', 'erase the cancellation reasons by this user; ids are in `venue user list`')
    .option(
      '--community <id>',
      'erase texts written with an API key of this community, or by an operator for it',
      wholeNumber,
    )
    .action((named, command) =>
      operateOn(named, command, async ({ queries, commands, context }, { subject, target, name }) => {
        const isKnown = name !== undefined || (await queries.operator.isSubject(subject));
        if (!isKnown) return unknownSubject(subject);
        const forgottenAt = await commands.personalData.forget(subject, context);
        if (isRefusal(forgottenAt)) return forgottenAt;
        return { json: { subject, forgottenAt }, note: whatStays(target, name) };
      }),
    );

  subcommand(
    venue,
    'data',
    'print everything that is stored about a brand, user or community, as JSON',
    ['data --brand 7 > brand-7.json', 'data --user usr_Zb0…'],
    `Prints every event and record that names it, with texts decrypted. Secrets such as password hashes are left out. The output may name
other people, such as colleagues: read it before you hand it over.`,
  )
    .option('--brand <id>', 'about this brand', wholeNumber)
    .option('--user <id>', 'about this user; ids are in `venue user list`')
    .option('--community <id>', 'about this community', wholeNumber)
    .action((named, command) =>
      operateOn(named, command, async (core, { subject, name }) => {
        const { events, records } = await core.copyOf(subject, (read) =>
          tell(command, `${read.toLocaleString('en')} events read`),
        );
        if (name === undefined && events.length + records.length === 0) return unknownSubject(subject);
        const copiedAt = toTimestamp(core.clock());
        const copy = { subject, name, copiedAt, events, records };
        return { json: copy, document: JSON.stringify(copy, null, 2) };
      }),
    );
}

const unknownSubject = (subject: Subject) => refuse('ResourceNotFound', `There is no ${subjectInWords(subject)}.`);

type Named = {
  readonly community?: number | undefined;
  readonly brand?: number | undefined;
  readonly user?: string | undefined;
};

/** An account, or the id of a user. Exactly one option is required. */
function requiredSubject({ user, ...named }: Named): Account | string {
  const account = namedAccount(named);
  if (user !== undefined && account !== undefined) throw wrongUsage('name one brand, user or community, not several');
  const target = user ?? account;
  if (target === undefined) throw wrongUsage('one of --brand ID, --user ID and --community ID is required');
  return target;
}

type Target = {
  readonly target: Account | string;
  readonly subject: Subject;
  /** The name of an account, or the address of an existing user. */
  readonly name: string | undefined;
};

/** Runs `work` on the subject that the options name. Refuses an account that does not exist; a user may have been removed. */
function operateOn(
  named: Named,
  command: Invoked,
  work: (core: OperatorCore, target: Target) => Promise<Answer | Refusal>,
): Promise<void> {
  const target = requiredSubject(named);
  return operate(command, async (core) => {
    if (typeof target === 'string') {
      const name = (await core.users.get(target))?.email;
      return work(core, { target, subject: subjectOfUser(target), name });
    }
    const account = await nameOf(core, target);
    return isRefusal(account) ? account : work(core, { target, subject: subjectOf(target), name: account.name });
  });
}

function whatStays(target: Account | string, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return typeof target === 'string'
    ? `The user can still sign in as ${name}: \`venue user remove --email ${name}\` ends that and deletes the address.`
    : `The name ${name} stays: it is in the log.`;
}
