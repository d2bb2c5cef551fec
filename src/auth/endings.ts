import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import type { MembershipEvent } from '../domain/events.ts';
import { accountOfSubject, type Subject, userIdOf } from '../domain/personal-text.ts';
import type { ChangeContext } from './unlogged-changes.ts';

/** What belongs to users outside their own records. */
type Belongings = {
  readonly revocation: {
    endSessionsOf(userId: string): Promise<void>;
    endAppsOf(userId: string, account: AccountKey, context: ChangeContext): Promise<void>;
    endAllOfUser(userId: string, context: ChangeContext): Promise<void>;
  };
  readonly calendarFeeds: {
    endAllOf(userId: string, account: Account | undefined, context: ChangeContext): Promise<void>;
  };
  /** Of the console. */
  readonly sessions: { deleteAllOf(userId: string): Promise<void> };
  readonly invitations: {
    withdrawLapsed(account: Account, context: ChangeContext): Promise<void>;
    withdrawAll(of: { readonly email: string } | { readonly account: Account }, context: ChangeContext): Promise<void>;
  };
  /** Of the console. */
  readonly checkedFiles: { deleteAllOf(userId: string): Promise<void> };
  readonly signUps: { endOf(userId: string): Promise<void> };
  readonly preferences: { endOf(userId: string, account?: AccountKey): Promise<void> };
  readonly mail: {
    endAllOf(userId: string): Promise<void>;
    forgetAddress(email: string): Promise<void>;
    forgetTexts(): Promise<void>;
  };
};

/** A user whose record has just changed. */
type Changing = { readonly id: string; readonly isRemoved?: true };

export type Endings = ReturnType<typeof createEndings>;

/**
 * What ends with a password, a role, a membership, a user or the texts of a subject, beyond their own records: the whole list, by cause.
 * Live pages end with the role (`console/live/event-stream.ts`). Webhooks rest while no user has the app connected that registered them
 * (`webhooks/registrations.ts`).
 */
export function createEndings(belongings: Belongings) {
  const { revocation, calendarFeeds, sessions, invitations, checkedFiles, signUps, preferences, mail } = belongings;

  /** A member gets another role: the invitations of former Managers, and the apps, which may do what the former role could. */
  async function ofRole(userId: string, account: Account, context: ChangeContext): Promise<void> {
    await invitations.withdrawLapsed(account, context);
    await revocation.endAppsOf(userId, accountKey(account), context);
  }

  /** A user leaves an account. */
  async function ofMembership(userId: string, account: Account, context: ChangeContext): Promise<void> {
    await ofRole(userId, account, context);
    await calendarFeeds.endAllOf(userId, account, context);
    await preferences.endOf(userId, accountKey(account));
    await checkedFiles.deleteAllOf(userId);
  }

  /** A user is removed, after leaving all accounts. Can be repeated. */
  async function ofUser(userId: string, context: ChangeContext): Promise<void> {
    // First: it would make the user again.
    await signUps.endOf(userId);
    await revocation.endAllOfUser(userId, context);
    await calendarFeeds.endAllOf(userId, undefined, context);
    await preferences.endOf(userId);
    await checkedFiles.deleteAllOf(userId);
    await mail.endAllOf(userId);
    await sessions.deleteAllOf(userId);
  }

  return {
    ofUser,

    /** By the event that the log gets about the user. Repeated after a failure. */
    async ofChange(
      { id, isRemoved }: Changing,
      { type, data }: MembershipEvent,
      context: ChangeContext,
    ): Promise<void> {
      // Signs the user out of every browser, also of those that are signing in. Sessions of the console are older than the password, and
      // invalid by that. Connected apps stay connected.
      if (type === 'PasswordChanged') await revocation.endSessionsOf(id);
      if (type === 'MemberRoleChanged') await ofRole(id, data.account, context);
      if (type === 'MemberRemoved') await ofMembership(id, data.account, context);
      if (type === 'MemberRemoved' && isRemoved) await ofUser(id, context);
    },

    /** The same, while the record of the user still has the address. The pending one is left out: it may be that of a stranger. */
    async ofAddress({ email }: { readonly email: string }, context: ChangeContext): Promise<void> {
      await invitations.withdrawAll({ email }, context);
      await mail.forgetAddress(email);
    },

    /** `venue forget`, after the key was destroyed that opens the texts of the subject. Can be repeated. */
    async ofTexts(subject: Subject, context: ChangeContext): Promise<void> {
      const account = accountOfSubject(subject);
      if (account !== undefined) await invitations.withdrawAll({ account }, context);
      const userId = userIdOf(subject);
      if (userId !== undefined) {
        await preferences.endOf(userId);
        await checkedFiles.deleteAllOf(userId);
        await mail.endAllOf(userId);
      }
      await mail.forgetTexts();
    },
  };
}
