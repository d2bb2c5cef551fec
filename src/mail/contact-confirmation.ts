import { randomUUID } from 'node:crypto';
import type { LinkedDeps, TimedLink } from '../auth/link-mail.ts';
import { LINK_ENDED, LINK_PATHS } from '../auth/links.ts';
import { type IsSuspended, SUSPENDED } from '../auth/suspension.ts';
import { type Account, type AccountKey, accountKey, accountOfKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { type AccountContacts, PENDING_MS, type PendingContact } from './contacts.ts';

export type ContactConfirmation = ReturnType<typeof createContactConfirmation>;

const TOO_MANY = refuse(
  'ValidationError',
  'This account has asked for too many changes of its address. Try again in an hour.',
);

/** Confirms that a person who reads mail at the new contact address of an account agrees to it. */
export function createContactConfirmation(
  deps: LinkedDeps & {
    readonly contacts: AccountContacts;
    readonly isSuspended: IsSuspended;
    /** Counts a mail to an address that may be that of a stranger. @returns the wait in milliseconds if there were too many, otherwise 0 */
    readonly countChange: (account: AccountKey) => Promise<number>;
  },
) {
  const { contacts, links, mails, clock, publicUrl } = deps;

  /** What the code of a link covers: the link ends with another request, and with its use. */
  const stateOf = ({ requestedAt }: PendingContact): readonly string[] => [requestedAt];

  async function check(token: string): Promise<{ readonly account: Account; readonly address: string } | undefined> {
    const link = links.read(token);
    const account = link && accountOfKey(link.id.replace('-', ':'));
    const pending = account && (await contacts.pending(account));
    if (link === undefined || account === undefined || pending === undefined) return undefined;
    if (links.purposeOf(link, ['contact'], stateOf(pending)) === undefined) return undefined;
    return { account, address: pending.address };
  }

  return {
    sendsMail: mails.isConfigured,

    /** Sends a link to a new address, which replaces the contact address once it is confirmed. An empty one removes the contact address. */
    async request(account: Account, typed: string, userId: string): Promise<Refusal | undefined> {
      if (typed.trim() === '') return contacts.set(account, '');
      if ((await deps.countChange(accountKey(account))) > 0) return TOO_MANY;
      const refusal = await contacts.propose(account, typed, userId);
      if (refusal !== undefined) return refusal;
      const key = accountKey(account);
      // It names the account instead of a user: its reader is perhaps none.
      const mail = { kind: 'ContactConfirmation', cause: randomUUID(), userId: key, account: key, about: {} } as const;
      await mails.enqueue({ ...mail, at: toTimestamp(clock()) });
      return undefined;
    },

    /** The link of a mail. The same each time until the address is confirmed or replaced. */
    mailed(account: Account, pending: PendingContact): TimedLink {
      const until = Date.parse(pending.requestedAt) + PENDING_MS;
      const id = accountKey(account).replace(':', '-');
      const token = links.make({ purpose: 'contact', id, until, state: stateOf(pending) });
      return { url: `${publicUrl}${LINK_PATHS.contact}?link=${token}`, until: toTimestamp(until) };
    },

    /** The account and the address of a link; undefined if it does not work. Changes nothing. */
    check,

    async confirm(token: string): Promise<Refusal | undefined> {
      const checked = await check(token);
      if (checked === undefined) return LINK_ENDED;
      return (await deps.isSuspended(checked.account)) ? SUSPENDED : contacts.set(checked.account, checked.address);
    },
  };
}
