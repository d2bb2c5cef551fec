import { randomBytes, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Collection, Documents, Find, OperatedDocumentStore } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { MembershipEvent } from '../domain/events.ts';
import { EMAIL, hasLength, PASSWORD, wrongText } from '../domain/limits.ts';
import type { Clock } from '../runtime/clock.ts';
import { hashPassword, isPassword } from './passwords.ts';
import {
  type ChangeContext,
  createRecorder,
  type MembershipLog,
  UNLOGGED,
  UNLOGGED_INDEX,
  type WithUnlogged,
  withChanges,
} from './unlogged-changes.ts';

/** A person who signs in with e-mail and password. Belongs to one or more accounts (docs/decisions/accounts.md). */
export type User = {
  readonly id: string;
  /** Normalised: trimmed, lower case. */
  readonly email: string;
  readonly accounts: readonly Account[];
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** ISO 8601, UTC. Sessions started before have ended. */
  readonly passwordChangedAt: string;
};

/** Revokes what was issued to a user: sessions, apps and calendar feeds. */
export type UserRevocation = {
  /** Signs the user out of every browser. Connected apps stay connected. */
  endSessionsOf(userId: string): Promise<void>;
  /** Disconnects the apps that the user connected to the account, and ends the user's calendar feeds of it. */
  endGrantsOf(userId: string, account: AccountKey, context: ChangeContext): Promise<void>;
  /** Ends the user's sessions, calendar feeds, grants, and everything issued under them. */
  endAllOfUser(userId: string, context: ChangeContext): Promise<void>;
};

type UserDocument = User &
  WithUnlogged & {
    readonly passwordHash: string;
    /** Set when the user is removed, until the log has the event. The record then has no personal data, and lookups skip it. */
    readonly isRemoved?: true;
  };

const USERS: Collection<UserDocument> = {
  name: 'users',
  kind: 'record',
  indexes: [{ fields: ['email'], unique: true }, UNLOGGED_INDEX],
};

const withEmail = declareQuery(USERS, (email: string): Find<UserDocument> => ({ where: { email }, limit: 1 }), [
  'ada@example.com',
]);

const unlogged = declareQuery(USERS, (): Find<UserDocument> => UNLOGGED, []);

export type Users = Awaited<ReturnType<typeof createUsers>>;

/** Users are records in the document store. The log records changes to them without personal data (docs/decisions/accounts.md). */
export async function createUsers(deps: {
  readonly documents: OperatedDocumentStore;
  readonly revocation: UserRevocation;
  readonly log: MembershipLog;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
}) {
  const { documents, revocation, clock } = deps;
  const users = await documents.open(USERS);
  const now = () => new Date(clock()).toISOString();

  const { finish, finishAll } = createRecorder({
    ...deps,
    records: users,
    unlogged,
    isEnded: (user) => user.isRemoved === true,
    async settle({ id, isRemoved }, { type, data }, context) {
      if (type === 'PasswordChanged') await revocation.endSessionsOf(id);
      if (type !== 'MemberRemoved') return;
      await (isRemoved
        ? revocation.endAllOfUser(id, context)
        : revocation.endGrantsOf(id, accountKey(data.account), context));
    },
  });

  /** Changes a user and applies the consequences. Retries if another write came in between; writes nothing without changes. */
  async function change(
    id: string,
    next: (user: UserDocument) => Changed | Refusal,
    context: ChangeContext,
  ): Promise<User | Refusal> {
    let refusal: Refusal | undefined;
    const { stored } = await users.update(id, (before) => {
      const changed = before !== undefined && isUser(before) ? next(before) : NO_SUCH_USER;
      refusal = isRefusal(changed) ? changed : undefined;
      if (isRefusal(changed) || changed.changes.length === 0) return undefined;
      return withChanges(changed.user, changed.changes, context);
    });
    if (stored === undefined || refusal !== undefined) return refusal ?? NO_SUCH_USER;
    await finish(id);
    return withoutHash(stored.document);
  }

  return {
    ...lookups(users),

    /** Refuses an e-mail that is malformed or taken, a password that is too short or too long, and a user without an account. */
    async add(
      { email, password, accounts }: { email: string; password: string; accounts: readonly Account[] },
      context: ChangeContext,
    ): Promise<User | Refusal> {
      const address = normalisedEmail(email);
      if (!isAddress(address)) return refuse('ValidationError', `"${email}" is not an e-mail address.`);
      if (accounts.length === 0) return refuse('ValidationError', 'A user must belong to at least one account.');
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      const { user, changes } = newUser(address, accounts, await hashPassword(password), now());
      if (!(await users.insert(user.id, withChanges(user, changes, context))))
        return refuse('ValidationError', `The e-mail address ${address} is already in use.`);
      await finish(user.id);
      return withoutHash(user);
    },

    /** Also signs the user out of every browser. Connected apps stay connected. */
    async changePassword(id: string, password: string, context: ChangeContext): Promise<User | Refusal> {
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      const passwordHash = await hashPassword(password);
      return change(id, (user) => withPassword(user, passwordHash, now()), context);
    },

    addAccount: (id: string, account: Account, context: ChangeContext): Promise<User | Refusal> =>
      change(id, (user) => withAccount(user, account), context),

    /** Also disconnects the apps that the user connected to the account, and ends the user's feeds of it. Refuses to remove the last account. */
    removeAccount: (id: string, account: Account, context: ChangeContext): Promise<User | Refusal> =>
      change(id, (user) => withoutAccount(user, account), context),

    /**
     * Also ends the user's sessions and calendar feeds, disconnects the user's apps, and erases the user from the files, if the engine supports it.
     * @returns false if there was no such user
     */
    async remove(id: string, context: ChangeContext): Promise<boolean> {
      const { isChanged } = await users.update(id, (user) => {
        if (user === undefined || !isUser(user)) return undefined;
        const changes = user.accounts.map((account) => memberRemoved(user, account));
        return withChanges(removed(user), changes, context);
      });
      await finish(id);
      await (isChanged ? documents.purge() : revocation.endAllOfUser(id, context));
      return isChanged;
    },

    /** Finishes interrupted changes, and appends those that are not in the log yet. */
    finishChanges: finishAll,
  };
}

/** Finds users. A removed user is not found, even while its record is still there. */
function lookups(users: Documents<UserDocument>) {
  let haveExisted = false;

  async function find(email: string): Promise<UserDocument | undefined> {
    for await (const { document } of users.find(withEmail(normalisedEmail(email))))
      if (isUser(document)) return document;
    return undefined;
  }

  return {
    /** Whether any user exists, or has existed since this process first found one. */
    async exist(): Promise<boolean> {
      if (haveExisted) return true;
      for await (const { document } of users.find(everyDocument())) {
        if (!isUser(document)) continue;
        haveExisted = true;
        break;
      }
      return haveExisted;
    },

    async get(id: string): Promise<User | undefined> {
      const stored = await users.get(id);
      return stored && isUser(stored.document) ? withoutHash(stored.document) : undefined;
    },

    async byEmail(email: string): Promise<User | undefined> {
      const user = await find(email);
      return user && withoutHash(user);
    },

    /** The users who belong to the account, or all users, ordered by e-mail. */
    async list(account?: Account): Promise<User[]> {
      const members: User[] = [];
      for await (const { document } of users.find(everyDocument()))
        if (isUser(document) && (account === undefined || belongsTo(document, account)))
          members.push(withoutHash(document));
      return members.sort((a, b) => (a.email < b.email ? -1 : 1));
    },

    /** Takes equally long for an unknown e-mail and a wrong password. */
    async verifyPassword(email: string, password: string): Promise<User | undefined> {
      const user = await find(email);
      if (!hasLength(password, { ...PASSWORD, min: 0 })) return undefined;
      const right = await isPassword(password, user?.passwordHash);
      return right && user !== undefined ? withoutHash(user) : undefined;
    },
  };
}

const NO_SUCH_USER = refuse('ResourceNotFound', 'There is no such user.');

const isUser = ({ isRemoved }: UserDocument): boolean => isRemoved !== true;

/** A user after a change, with the changes for the log. Without changes, the user stays as it was. */
type Changed = { readonly user: UserDocument; readonly changes: readonly MembershipEvent[] };

function newUser(email: string, accounts: readonly Account[], passwordHash: string, at: string): Changed {
  const id = `usr_${randomBytes(12).toString('base64url')}`;
  const user = { id, email, accounts: unique(accounts), createdAt: at, passwordChangedAt: at, passwordHash };
  return { user, changes: user.accounts.map((account) => memberAdded(user, account)) };
}

const withPassword = (user: UserDocument, passwordHash: string, passwordChangedAt: string): Changed => ({
  user: { ...user, passwordHash, passwordChangedAt },
  changes: user.accounts.map((account) => ({ type: 'PasswordChanged', data: changeOf(user, account) })),
});

const withAccount = (user: UserDocument, account: Account): Changed =>
  belongsTo(user, account)
    ? { user, changes: [] }
    : { user: { ...user, accounts: [...user.accounts, account] }, changes: [memberAdded(user, account)] };

function withoutAccount(user: UserDocument, account: Account): Changed | Refusal {
  if (!belongsTo(user, account)) return { user, changes: [] };
  const accounts = user.accounts.filter((each) => accountKey(each) !== accountKey(account));
  return accounts.length > 0
    ? { user: { ...user, accounts }, changes: [memberRemoved(user, account)] }
    : refuse('ValidationError', 'A user must belong to at least one account. Remove the user instead.');
}

/** A removed user until its event is in the log: no personal data and no credentials. */
const removed = ({ id, createdAt, passwordChangedAt, unlogged = [] }: UserDocument): UserDocument => ({
  ...{ id, createdAt, passwordChangedAt, unlogged },
  email: id,
  accounts: [],
  passwordHash: '',
  isRemoved: true,
});

const changeOf = ({ id: userId }: User, account: Account) => ({ changeId: randomUUID(), account, userId });
const memberAdded = (user: User, account: Account): MembershipEvent => ({
  type: 'MemberAdded',
  data: { ...changeOf(user, account), role: 'Member' },
});
const memberRemoved = (user: User, account: Account): MembershipEvent => ({
  type: 'MemberRemoved',
  data: changeOf(user, account),
});

/** Whether the user belongs to the account. */
export const belongsTo = (user: User, account: Account) =>
  user.accounts.some((each) => accountKey(each) === accountKey(account));

/** Normalises an e-mail for storage and comparison. */
export const normalisedEmail = (email: string) => email.trim().normalize('NFC').toLowerCase();

// Deliberately lenient: something before and after a single @. Only the mail server knows whether an address exists.
export const isAddress = (email: string) => hasLength(email, EMAIL) && /^[^\s@<>"]+@[^\s@<>"]+$/.test(email);

const wrongPassword = (password: string) => wrongText('The password', password, PASSWORD);

const unique = (accounts: readonly Account[]): Account[] => [
  ...new Map(accounts.map((account) => [accountKey(account), account])).values(),
];

const withoutHash = ({ id, email, accounts, createdAt, passwordChangedAt }: UserDocument): User => ({
  ...{ id, email, accounts, createdAt, passwordChangedAt },
});
