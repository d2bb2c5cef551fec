import { type Account, type AccountKey, accountOfKey } from '../domain/account.ts';
import { type Subject, userIdOf } from '../domain/personal-text.ts';

/** What is held about users outside their own records. `Context`: who ends it, for the log. */
type Held<Context> = {
  readonly revocation: {
    endAppsOf(userId: string, account: AccountKey, context: Context): Promise<void>;
    endAllOfUser(userId: string, context: Context): Promise<void>;
  };
  readonly calendarFeeds: {
    endAllOf(userId: string, account: Account | undefined, context: Context): Promise<void>;
  };
  /** Of the console. */
  readonly sessions: { deleteAllOf(userId: string): Promise<void> };
  readonly invitations: { withdrawAll(to: { readonly email: string }, context: Context): Promise<void> };
  readonly preferences: { endOf(userId: string, account?: AccountKey): Promise<void> };
  readonly mail: {
    endAllOf(userId: string): Promise<void>;
    forgetAddress(email: string): Promise<void>;
    forgetTexts(): Promise<void>;
  };
};

/** What ends with a membership, a user or the personal data of a subject, beyond their own records: the whole list. */
export const createEndings = <Context>(held: Held<Context>) => ({
  /** A user leaves an account. */
  async ofMembership(userId: string, account: AccountKey, context: Context): Promise<void> {
    await held.revocation.endAppsOf(userId, account, context);
    await held.calendarFeeds.endAllOf(userId, accountOfKey(account), context);
    await held.preferences.endOf(userId, account);
  },

  /** A user is removed. Can be repeated. */
  async ofUser(userId: string, context: Context): Promise<void> {
    await held.revocation.endAllOfUser(userId, context);
    await held.calendarFeeds.endAllOf(userId, undefined, context);
    await held.preferences.endOf(userId);
    await held.mail.endAllOf(userId);
    await held.sessions.deleteAllOf(userId);
  },

  /** The same, while the record of the user still has the address. The pending one is left out: it may be that of a stranger. */
  async ofAddress({ email }: { readonly email: string }, context: Context): Promise<void> {
    await held.invitations.withdrawAll({ email }, context);
    await held.mail.forgetAddress(email);
  },

  /** `venue forget`, after the key was destroyed that opens the texts of the subject. */
  async ofTexts(subject: Subject): Promise<void> {
    const userId = userIdOf(subject);
    if (userId !== undefined) {
      await held.preferences.endOf(userId);
      await held.mail.endAllOf(userId);
    }
    await held.mail.forgetTexts();
  },
});
