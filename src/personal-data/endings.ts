import { type Account, type AccountKey, accountOfKey } from '../domain/account.ts';
import { type Subject, userIdOf } from '../domain/personal-text.ts';

/** What belongs to users outside their own records. `Context`: who ends it, for the log. */
type Belongings<Context> = {
  readonly revocation: {
    endAppsOf(userId: string, account: AccountKey, context: Context): Promise<void>;
    endAllOfUser(userId: string, context: Context): Promise<void>;
  };
  readonly calendarFeeds: {
    endAllOf(userId: string, account: Account | undefined, context: Context): Promise<void>;
  };
  /** Of the console. */
  readonly sessions: { deleteAllOf(userId: string): Promise<void> };
  readonly invitations: {
    withdrawLapsed(account: Account, context: Context): Promise<void>;
    withdrawAll(to: { readonly email: string }, context: Context): Promise<void>;
  };
  /** Of the console. */
  readonly checkedFiles: { deleteAllOf(userId: string): Promise<void> };
  readonly preferences: { endOf(userId: string, account?: AccountKey): Promise<void> };
  readonly mail: {
    endAllOf(userId: string): Promise<void>;
    forgetAddress(email: string): Promise<void>;
    forgetTexts(): Promise<void>;
  };
};

/**
 * What ends with a role, a membership, a user or the personal data of a subject, beyond their own records. What a change of a role or a password
 * ends besides is in src/auth/users.ts.
 */
export const createEndings = <Context>(belongings: Belongings<Context>) => ({
  /** A member of an account leaves it or gets another role: the invitations of former Managers. */
  async ofRole(account: Account, context: Context): Promise<void> {
    await belongings.invitations.withdrawLapsed(account, context);
  },

  /** A user leaves an account. */
  async ofMembership(userId: string, account: AccountKey, context: Context): Promise<void> {
    await belongings.revocation.endAppsOf(userId, account, context);
    await belongings.calendarFeeds.endAllOf(userId, accountOfKey(account), context);
    await belongings.preferences.endOf(userId, account);
    await belongings.checkedFiles.deleteAllOf(userId);
  },

  /** A user is removed. Can be repeated. */
  async ofUser(userId: string, context: Context): Promise<void> {
    await belongings.revocation.endAllOfUser(userId, context);
    await belongings.calendarFeeds.endAllOf(userId, undefined, context);
    await belongings.preferences.endOf(userId);
    await belongings.checkedFiles.deleteAllOf(userId);
    await belongings.mail.endAllOf(userId);
    await belongings.sessions.deleteAllOf(userId);
  },

  /** The same, while the record of the user still has the address. The pending one is left out: it may be that of a stranger. */
  async ofAddress({ email }: { readonly email: string }, context: Context): Promise<void> {
    await belongings.invitations.withdrawAll({ email }, context);
    await belongings.mail.forgetAddress(email);
  },

  /** `venue forget`, after the key was destroyed that opens the texts of the subject. */
  async ofTexts(subject: Subject): Promise<void> {
    const userId = userIdOf(subject);
    if (userId !== undefined) {
      await belongings.preferences.endOf(userId);
      await belongings.checkedFiles.deleteAllOf(userId);
      await belongings.mail.endAllOf(userId);
    }
    await belongings.mail.forgetTexts();
  },
});
