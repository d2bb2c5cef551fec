import type { Logger } from 'pino';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { isAddress, normalisedEmail } from '../domain/email-address.ts';
import type { SpaceId } from '../domain/ids.ts';
import { brokenTextRule, PASSWORD } from '../domain/limits.ts';
import type { Role } from '../domain/roles.ts';
import type { ReadMessage } from '../domain/thread.ts';
import type { Clock } from '../runtime/clock.ts';
import { openAccountMembers } from './account-members.ts';
import type { Endings } from './endings.ts';
import { accountsIn } from './memberships.ts';
import { hashPassword } from './passwords.ts';
import type { ChangeContext, MembershipLog } from './unlogged-changes.ts';
import { createUserChanges, NO_SUCH_USER } from './user-changes.ts';
import { createUserLookups } from './user-lookups.ts';
import {
  type Changed,
  emailChanged,
  isOnlyAccount,
  isUser,
  newUser,
  signInState,
  USERS,
  type User,
  type UserDocument,
  withAccount,
  withOwnChanges,
  withoutAccount,
  withoutHash,
  withoutUser,
  withPassword,
  withRead,
  withRole,
  withShortlisted,
} from './user-record.ts';

export type { User };

export type Users = Awaited<ReturnType<typeof createUsers>>;

/** Users are records in the document store. The log records changes to them without personal data (docs/decisions/accounts.md). */
export async function createUsers(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'purge'>;
  readonly endings: Endings;
  readonly log: MembershipLog;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
}) {
  const { documents, endings, clock } = deps;
  const users = await documents.open(USERS);
  const members = await openAccountMembers(documents);
  const found = createUserLookups(users);
  const now = () => new Date(clock()).toISOString();

  const { change, finish, finishAll } = createUserChanges({ ...deps, users, members, byEmail: found.byEmail });

  const changeUser = async (...of: Parameters<typeof change>): Promise<User | Refusal> => {
    const outcome = await change(...of);
    return isRefusal(outcome) ? outcome : withoutHash(outcome);
  };

  return {
    ...found,
    membersOf: members.membersOf,

    /**
     * Refuses an e-mail that is malformed or taken, a password that is too short or too long, and a user without an account.
     * @param context without an actor, the new user is the actor
     */
    async add(
      { email, password, accounts, role = 'Manager', isConfirmed = false, refusalToJoin }: NewUser,
      context: Omit<ChangeContext, 'actor'> & Partial<ChangeContext>,
    ): Promise<User | Refusal> {
      const address = normalisedEmail(email);
      if (!isAddress(address)) return notAnAddress();
      if (accounts.length === 0) return refuse('ValidationError', 'A user must belong to at least one account.');
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      const memberships = unique(accounts).map((account) => ({ account, role }));
      const made = newUser(address, memberships, await hashPassword(password), now());
      const user = isConfirmed ? { ...made.user, emailConfirmedAt: made.user.createdAt } : made.user;
      const by = { actor: { kind: 'user', id: user.id } as const, ...context };
      const refusal = await refusalToJoin?.();
      if (refusal !== undefined) return refusal;
      if (!(await users.insert(user.id, withOwnChanges(user, made.changes, by))))
        return refuse('ValidationError', `The e-mail address ${address} is already in use.`);
      await finish(user.id);
      return withoutHash(user);
    },

    /**
     * Adds a user who has proved to read mail at the address, and who gets the first account right after. Does nothing if the user is there.
     * Refuses an address that another user has, and a user who is being removed.
     */
    async addConfirmed({
      id,
      email,
      passwordHash,
    }: Pick<UserDocument, 'id' | 'email' | 'passwordHash'>): Promise<'added' | 'there' | Refusal> {
      const { user } = newUser(normalisedEmail(email), [], passwordHash, now(), id);
      if (await users.insert(id, { ...user, emailConfirmedAt: user.createdAt })) return 'added';
      const stored = await users.get(id);
      if (stored === undefined) return refuse('ValidationError', 'Another user has this address.');
      return isUser(stored.document) ? 'there' : NO_SUCH_USER;
    },

    /** Also signs the user out of every browser. Connected apps stay connected. */
    async changePassword(id: string, password: string, context: ChangeContext): Promise<User | Refusal> {
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      const passwordHash = await hashPassword(password);
      return changeUser(id, (user) => withPassword(user, passwordHash, now()), context);
    },

    /**
     * Changes the password of a user, unless password or address have changed since they were read.
     * @param confirms whether the user has proved to read mail at the address
     */
    async resetPassword(
      { id, ...read }: User,
      { password, confirms }: { readonly password: string; readonly confirms: boolean },
      context: ChangeContext,
    ): Promise<User | Refusal> {
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      const passwordHash = await hashPassword(password);
      const reset = (user: UserDocument): Changed | Refusal => {
        if (user.passwordChangedAt !== read.passwordChangedAt || user.email !== read.email) return NO_SUCH_USER;
        const changed = withPassword(user, passwordHash, now());
        return confirms ? { ...changed, user: { ...changed.user, emailConfirmedAt: now() } } : changed;
      };
      return changeUser(id, reset, context);
    },

    /**
     * Keeps an address that replaces the user's once it is confirmed; the current one takes that back. Refuses a malformed one; whether it is
     * taken shows later.
     */
    async requestEmail(id: string, email: string, context: ChangeContext): Promise<User | Refusal> {
      const address = normalisedEmail(email);
      if (!isAddress(address)) return notAnAddress();
      const keep = ({ pendingEmail: _, ...user }: UserDocument): Changed => ({
        user: address === user.email ? user : { ...user, pendingEmail: address },
        changes: [],
      });
      return changeUser(id, keep, context);
    },

    /** Confirms the pending address, or else the current one, unless the user has changed since it was read. Refuses a taken address. */
    async confirmEmail({ id, ...read }: User, context: ChangeContext): Promise<User | Refusal> {
      const email = read.pendingEmail ?? read.email;
      const confirm = (user: UserDocument): Changed | Refusal => {
        if (signInState(user).join() !== signInState(read).join()) return NO_SUCH_USER;
        const { pendingEmail: _, ...rest } = user;
        const changes = email === user.email ? [] : accountsIn(user).map((account) => emailChanged(user, account));
        return { user: { ...rest, email, emailConfirmedAt: now() }, changes };
      };
      return changeUser(id, confirm, context);
    },

    /** Adds a space to the user's shortlist, or removes it. Refuses more than `MAX_SHORTLIST`. */
    shortlist: (id: string, spaceId: SpaceId, isWanted: boolean, context: ChangeContext): Promise<User | Refusal> =>
      changeUser(id, (user) => withShortlisted(user, spaceId, isWanted), context),

    /** Remembers that the user has read the messages about a booking up to one. */
    markRead: (id: string, message: ReadMessage, context: ChangeContext): Promise<User | Refusal> =>
      changeUser(id, (user) => withRead(user, message), context),

    /** Does nothing if the user belongs to the account already, in any role. */
    addAccount: (id: string, account: Account, role: Role, context: ChangeContext): Promise<User | Refusal> =>
      changeUser(id, (user) => withAccount(user, { account, role }), context),

    /**
     * Gives a member another role, disconnects the apps that the user connected to the account, and withdraws invitations that need a
     * Manager. Refuses to leave the account without a Manager, and to change another role than the sender saw.
     * @param was the role that the sender saw; undefined: any
     */
    setRole: (
      id: string,
      account: Account,
      role: Role,
      context: ChangeContext,
      was?: string,
    ): Promise<User | Refusal> => changeUser(id, (user) => withRole(user, { account, role }, was), context),

    /**
     * For the operator: the account may be left without a Manager. Also disconnects the apps that the user connected to the account, and ends
     * the user's feeds of it. Refuses to remove the last account of the user.
     */
    removeAccount: (id: string, account: Account, context: ChangeContext): Promise<User | Refusal> =>
      changeUser(id, (user) => withoutAccount(user, account), context, { mayBeLast: true }),

    /**
     * For a Manager: takes a member off the account, with the same consequences. Removes a user who belongs to no other account. Refuses to
     * leave the account without a Manager.
     */
    async removeMember(id: string, account: Account, context: ChangeContext): Promise<'removed' | Refusal> {
      const known = await found.get(id);
      const outcome = await change(
        id,
        (user) => (isOnlyAccount(user, account) ? withoutUser(user) : withoutAccount(user, account)),
        context,
      );
      if (isRefusal(outcome)) return outcome;
      if (isUser(outcome)) return 'removed';
      if (known !== undefined) await endings.ofAddress(known, context);
      await documents.purge();
      return 'removed';
    },

    /**
     * For the operator: an account may be left without a Manager. Also ends the user's sessions and calendar feeds, disconnects the user's
     * apps, and erases the user from the files, if the engine supports it.
     * @returns false if there was no such user
     */
    async remove(id: string, context: ChangeContext): Promise<boolean> {
      const known = await found.get(id);
      if (known !== undefined) await endings.ofAddress(known, context);
      const isChanged = !isRefusal(await change(id, withoutUser, context, { mayBeLast: true }));
      // No event ends what belongs to a user without an account, as while a sign-up is being finished.
      if (!isChanged || known?.memberships.length === 0) await endings.ofUser(id, context);
      if (isChanged) await documents.purge();
      return isChanged;
    },

    /** Finishes interrupted changes, and appends those that are not in the log yet. */
    finishChanges: finishAll,
  };
}

type NewUser = {
  readonly email: string;
  readonly password: string;
  readonly accounts: readonly Account[];
  /** In each of the accounts. Default: Manager. */
  readonly role?: Role;
  /** Whether the user has proved to read mail at the address. Default: not proved. */
  readonly isConfirmed?: boolean;
  /** Decides right before the record is written: a password takes a while to hash. */
  readonly refusalToJoin?: () => Promise<Refusal | undefined>;
};

const notAnAddress = () => refuse('ValidationError', 'This is not an e-mail address.');

/** Refuses a password that is too short or too long. */
export function wrongPassword(password: string): Refusal | undefined {
  const rule = brokenTextRule(password, PASSWORD);
  return rule === undefined ? undefined : refuse('ValidationError', `The password ${rule}.`, { field: 'password' });
}

const unique = (accounts: readonly Account[]): Account[] => [
  ...new Map(accounts.map((account) => [accountKey(account), account])).values(),
];
