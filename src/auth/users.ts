import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Find, OperatedDocumentStore } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { isAddress, normalisedEmail } from '../domain/email-address.ts';
import { brokenTextRule, PASSWORD } from '../domain/limits.ts';
import type { Role } from '../domain/roles.ts';
import type { Clock } from '../runtime/clock.ts';
import { openAccountMembers } from './account-members.ts';
import type { Endings } from './endings.ts';
import { accountsIn } from './memberships.ts';
import { hashPassword } from './passwords.ts';
import { type ChangeContext, createRecorder, type MembershipLog, UNLOGGED } from './unlogged-changes.ts';
import { createUserLookups } from './user-lookups.ts';
import {
  type Changed,
  emailChanged,
  isOnlyAccount,
  isUser,
  managedBy,
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
  withRole,
} from './user-record.ts';

export type { User };

const MAX_PAUSE_MS = 50;

const unlogged = declareQuery(USERS, (): Find<UserDocument> => UNLOGGED, []);

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
  const now = () => new Date(clock()).toISOString();

  const { finish, finishAll } = createRecorder({
    ...deps,
    records: users,
    unlogged,
    isEnded: (user) => user.isRemoved === true,
    async settle({ id, isRemoved }, { type, data }, context) {
      if (type === 'PasswordChanged') await endings.ofPassword(id);
      if (type !== 'MemberAdded' && type !== 'MemberRoleChanged' && type !== 'MemberRemoved') return;
      await members.update(data.account, id);
      if (type === 'MemberRoleChanged') await endings.ofRole(id, data.account, context);
      if (type === 'MemberRemoved') await endings.ofMembership(id, data.account, context);
      if (type === 'MemberRemoved' && isRemoved) await endings.ofUser(id, context);
    },
  });

  /**
   * Changes a user and applies the consequences. Starts over if another write came in between; writes nothing without changes.
   * @param mayBeLast whether an account may be left without a Manager
   */
  async function change(
    id: string,
    next: (user: UserDocument) => Changed | Refusal,
    context: ChangeContext,
    { mayBeLast = false }: { readonly mayBeLast?: boolean } = {},
  ): Promise<UserDocument | Refusal> {
    /** Stops in each account that the user no longer manages. @returns false if one would keep no Manager */
    async function stopManaging(before: UserDocument, after: UserDocument): Promise<boolean> {
      const stays = new Set(managedBy(after).map(accountKey));
      for (const account of managedBy(before)) {
        if (stays.has(accountKey(account))) continue;
        left.add(account);
        if (!(await members.stopManaging(account, id, mayBeLast))) return false;
      }
      return true;
    }
    /** Changes the record that was read. Undefined if it has changed since. */
    async function attempt(): Promise<UserDocument | Refusal | undefined> {
      const stored = await users.get(id);
      if (stored === undefined || !isUser(stored.document)) return NO_SUCH_USER;
      const changed = next(stored.document);
      if (isRefusal(changed)) return changed;
      if (changed.user === stored.document) return changed.user;
      if (!(await stopManaging(stored.document, changed.user))) return LAST_MANAGER;
      const changing = withOwnChanges(changed.user, changed.changes, context);
      let isTaken = false;
      const ifUnchanged = async (_: UserDocument | undefined, version: number) => {
        if (version !== stored.version) return undefined;
        // The unique index also refuses an address that another user takes at this moment; then this is asked again.
        isTaken = changing.email !== stored.document.email && (await found.byEmail(changing.email)) !== undefined;
        return isTaken ? undefined : changing;
      };
      const { isChanged } = await users.update(id, ifUnchanged, { stored });
      if (isTaken) return ADDRESS_TAKEN;
      return isChanged ? changing : undefined;
    }
    const left = new Set<Account>();
    let outcome = await attempt();
    for (let failed = 1; outcome === undefined; failed += 1) {
      // Two processes could else make each other start over for as long as they are equally fast.
      if (failed > 2) await sleep(Math.random() * Math.min(2 ** failed, MAX_PAUSE_MS));
      outcome = await attempt();
    }
    await finish(id);
    // The user may have stayed a Manager of them.
    for (const account of left) await members.update(account, id);
    return outcome;
  }

  const changeUser = async (...of: Parameters<typeof change>): Promise<User | Refusal> => {
    const outcome = await change(...of);
    return isRefusal(outcome) ? outcome : withoutHash(outcome);
  };

  const found = createUserLookups(users);

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

    /** Does nothing if the user belongs to the account already, in any role. */
    addAccount: (id: string, account: Account, role: Role, context: ChangeContext): Promise<User | Refusal> =>
      changeUser(id, (user) => withAccount(user, { account, role }), context),

    /**
     * Gives a member another role, disconnects the apps that the user connected to the account, and withdraws invitations that need a
     * Manager. Refuses to leave the account without a Manager.
     */
    setRole: (id: string, account: Account, role: Role, context: ChangeContext): Promise<User | Refusal> =>
      changeUser(id, (user) => withRole(user, { account, role }), context),

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
      await (isChanged ? documents.purge() : endings.ofUser(id, context));
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

const NO_SUCH_USER = refuse('ResourceNotFound', 'There is no such user.');
const ADDRESS_TAKEN = refuse('ValidationError', 'This address cannot be used.');
const LAST_MANAGER = refuse(
  'ValidationError',
  'This is the last Manager of the account. Make another member a Manager first.',
);

const notAnAddress = () => refuse('ValidationError', 'This is not an e-mail address.');

/** Refuses a password that is too short or too long. */
export function wrongPassword(password: string): Refusal | undefined {
  const rule = brokenTextRule(password, PASSWORD);
  return rule === undefined ? undefined : refuse('ValidationError', `The password ${rule}.`, { field: 'password' });
}

const unique = (accounts: readonly Account[]): Account[] => [
  ...new Map(accounts.map((account) => [accountKey(account), account])).values(),
];
