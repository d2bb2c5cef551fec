import { randomBytes } from 'node:crypto';
import type { Collection, DocumentStore, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { EMAIL, hasLength, PASSWORD, wrongText } from '../domain/limits.ts';
import type { Clock } from '../runtime/clock.ts';
import { hashPassword, isPassword } from './passwords.ts';

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

export type Users = {
  /** Refuses an e-mail that is malformed or taken, a password that is too short or too long, and a user without an account. */
  add(user: { email: string; password: string; accounts: readonly Account[] }): Promise<User | Refusal>;
  get(id: string): Promise<User | undefined>;
  byEmail(email: string): Promise<User | undefined>;
  /** The users who belong to the account, or all users, ordered by e-mail. */
  list(account?: Account): Promise<User[]>;
  /** Takes equally long for an unknown e-mail and a wrong password. */
  verifyPassword(email: string, password: string): Promise<User | undefined>;
  /** Also signs the user out of every browser. Connected apps stay connected. */
  changePassword(id: string, password: string): Promise<User | Refusal>;
  addAccount(id: string, account: Account): Promise<User | Refusal>;
  /** Also disconnects the apps that the user connected to the account. Refuses to remove the last account. */
  removeAccount(id: string, account: Account): Promise<User | Refusal>;
  /** Also ends the user's sessions and disconnects the user's apps. @returns false if there was no such user */
  remove(id: string): Promise<boolean>;
};

/** Revokes what was issued to a user. Implemented by the authorization server. */
export type UserRevocation = {
  /** Signs the user out of every browser. Connected apps stay connected. */
  endSessionsOf(userId: string): Promise<void>;
  /** Disconnects the apps that the user connected to the account. */
  endGrantsOf(userId: string, account: AccountKey): Promise<void>;
  /** Ends the user's sessions, grants, and everything issued under them. */
  endAllOfUser(userId: string): Promise<void>;
};

type UserDocument = User & { readonly passwordHash: string };

const USERS: Collection<UserDocument> = {
  name: 'users',
  kind: 'record',
  indexes: [{ fields: ['email'], unique: true }],
};

const withEmail = declareQuery(USERS, (email: string): Find<UserDocument> => ({ where: { email }, limit: 1 }), [
  'ada@example.com',
]);

/** Users are records in the document store, not domain history (docs/decisions/accounts.md). */
export async function createUsers(deps: {
  readonly documents: DocumentStore;
  readonly revocation: UserRevocation;
  readonly clock: Clock;
}): Promise<Users> {
  const { revocation, clock } = deps;
  const users = await deps.documents.open(USERS);
  const now = () => new Date(clock()).toISOString();

  async function find(email: string): Promise<Stored<UserDocument> | undefined> {
    for await (const stored of users.find(withEmail(normalisedEmail(email)))) return stored;
    return undefined;
  }

  /** Reads, changes and writes a user; retries if another write came in between. */
  async function change(id: string, next: (user: UserDocument) => UserDocument | Refusal): Promise<User | Refusal> {
    for (;;) {
      const stored = await users.get(id);
      if (stored === undefined) return refuse('ResourceNotFound', 'There is no such user.');
      const changed = next(stored.document);
      if ('refused' in changed) return changed;
      if (await users.replace(id, changed, stored.version)) return withoutHash(changed);
    }
  }

  return {
    async add({ email, password, accounts }) {
      const address = normalisedEmail(email);
      if (!isAddress(address)) return refuse('ValidationError', `"${email}" is not an e-mail address.`);
      if (accounts.length === 0) return refuse('ValidationError', 'A user must belong to at least one account.');
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      const at = now();
      const user: UserDocument = {
        id: `usr_${randomBytes(12).toString('base64url')}`,
        email: address,
        accounts: unique(accounts),
        createdAt: at,
        passwordChangedAt: at,
        passwordHash: await hashPassword(password),
      };
      const added = await users.insert(user.id, user);
      return added ? withoutHash(user) : refuse('ValidationError', `The e-mail address ${address} is already in use.`);
    },

    async get(id) {
      const stored = await users.get(id);
      return stored && withoutHash(stored.document);
    },

    async byEmail(email) {
      const stored = await find(email);
      return stored && withoutHash(stored.document);
    },

    async list(account) {
      const key = account && accountKey(account);
      const found: User[] = [];
      for await (const { document } of users.find(everyDocument()))
        if (key === undefined || document.accounts.some((held) => accountKey(held) === key))
          found.push(withoutHash(document));
      return found.sort((a, b) => (a.email < b.email ? -1 : 1));
    },

    async verifyPassword(email, password) {
      const stored = await find(email);
      if (!hasLength(password, { ...PASSWORD, min: 0 })) return undefined;
      const right = await isPassword(password, stored?.document.passwordHash);
      return right && stored !== undefined ? withoutHash(stored.document) : undefined;
    },

    async changePassword(id, password) {
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      const passwordHash = await hashPassword(password);
      const changed = await change(id, (user) => ({ ...user, passwordHash, passwordChangedAt: now() }));
      if (!isRefusal(changed)) await revocation.endSessionsOf(id);
      return changed;
    },

    addAccount: (id, account) => change(id, (user) => ({ ...user, accounts: unique([...user.accounts, account]) })),

    async removeAccount(id, account) {
      const key = accountKey(account);
      const changed = await change(id, (user) => {
        const accounts = user.accounts.filter((held) => accountKey(held) !== key);
        return accounts.length > 0
          ? { ...user, accounts }
          : refuse('ValidationError', 'A user must belong to at least one account. Remove the user instead.');
      });
      if (!isRefusal(changed)) await revocation.endGrantsOf(id, key);
      return changed;
    },

    async remove(id) {
      const removed = await users.delete(id);
      await revocation.endAllOfUser(id);
      return removed;
    },
  };
}

/** Whether the user belongs to the account. */
export const belongsTo = (user: User, account: Account) =>
  user.accounts.some((held) => accountKey(held) === accountKey(account));

/** The form in which e-mails are stored and compared, however they were typed. */
export const normalisedEmail = (email: string) => email.trim().normalize('NFC').toLowerCase();

// Deliberately lenient: something before and after a single @. Only the mail server knows whether an address exists.
const isAddress = (email: string) => hasLength(email, EMAIL) && /^[^\s@<>"]+@[^\s@<>"]+$/.test(email);

const wrongPassword = (password: string) => wrongText('The password', password, PASSWORD);

const unique = (accounts: readonly Account[]): Account[] => [
  ...new Map(accounts.map((account) => [accountKey(account), account])).values(),
];

function withoutHash({ passwordHash: _, ...user }: UserDocument): User {
  return user;
}
