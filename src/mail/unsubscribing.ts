import { LINK_PATHS, type Links } from '../auth/links.ts';
import { type AccountKey, accountKey, accountOfKey } from '../domain/account.ts';
import { CHOSEN_KINDS, type ChosenKind, isChosen, labelOf } from './kinds.ts';
import type { MailPreferences } from './preferences.ts';
import type { MembersOf } from './recipients.ts';

export type Unsubscribing = ReturnType<typeof createUnsubscribing>;

/** Mail that a user turns off with one click: of a kind, or all that can be turned off. */
export type Subscription = {
  readonly userId: string;
  readonly account: AccountKey;
  readonly kind: ChosenKind | 'all';
};

/** How long a link works after its mail. */
const WORKS_MS = 365 * 24 * 3_600_000;

/**
 * Turns mail off without a session, by a link in its headers (RFC 8058). The link can only turn off the mail that it came with, for the
 * user who got it.
 */
export function createUnsubscribing(deps: {
  readonly links: Links;
  readonly preferences: Pick<MailPreferences, 'turnOff'>;
  readonly membersOf: MembersOf;
  readonly publicUrl: string;
}) {
  const { links, preferences, membersOf, publicUrl } = deps;

  function check(fields: { readonly link: string; readonly of: string; readonly kind: string }) {
    const { link: token, of, kind } = fields;
    const link = links.read(token);
    const account = accountOfKey(of);
    if (link === undefined || account === undefined || !(isChosen(kind) || kind === 'all')) return undefined;
    if (links.purposeOf(link, ['unsubscribe'], [accountKey(account), kind]) === undefined) return undefined;
    return { userId: link.id, account: accountKey(account), kind } satisfies Subscription;
  }

  return {
    /** @param at when the mail is made, in milliseconds since the epoch */
    url({ userId, account, kind }: Subscription, at: number): string {
      const link = links.make({ purpose: 'unsubscribe', id: userId, until: at + WORKS_MS, state: [account, kind] });
      return `${publicUrl}${LINK_PATHS.unsubscribe}?${new URLSearchParams({ of: account, kind, link })}`;
    },

    /** What a link turns off; undefined if it does not work. Changes nothing. */
    check,

    /** What a link turns off, in words. */
    describe: ({ kind }: Subscription): string => (kind === 'all' ? 'All mail about bookings' : labelOf(kind)),

    /** Does nothing for a user who has left: that would leave a record of them. */
    async turnOff({ userId, account: key, kind }: Subscription): Promise<void> {
      const account = accountOfKey(key);
      const members = account === undefined ? [] : await membersOf(account);
      if (!members.some((member) => member.userId === userId)) return;
      await preferences.turnOff(userId, key, kind === 'all' ? CHOSEN_KINDS : [kind]);
    },
  };
}
