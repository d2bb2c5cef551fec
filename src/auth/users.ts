import { randomBytes } from 'node:crypto';
import type { Collection, DocumentStore, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
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
  /** ISO 8601, UTC. Sessions that are older have ended. */
  readonly passwordChangedAt: string;
};

const PASSWORD_LENGTH = { min: 10, max: 256 } as const;

export type Users = {
  /** Refuses an address that is malformed or taken, a password of the wrong length, and a user without an account. */
  add(user: { email: string; password: string; accounts: readonly Account[] }): Promise<User | Refusal>;
  get(id: string): Promise<User | undefined>;
  byEmail(email: string): Promise<User | undefined>;
  /** Those who belong to the account; everybody without one. By e-mail. */
  list(account?: Account): Promise<User[]>;
  /** Works as long for an unknown address as for a wrong password. */
  verifyPassword(email: string, password: string): Promise<User | undefined>;
  /** Signs the user out of every browser. Apps that the user connected stay connected. */
  changePassword(id: string, password: string): Promise<User | Refusal>;
  addAccount(id: string, account: Account): Promise<User | Refusal>;
  /** Disconnects the apps that the user connected to the account. */
  removeAccount(id: string, account: Account): Promise<User | Refusal>;
  /** Ends the user's sessions and disconnects the apps that the user connected. @returns false when there was none */
  remove(id: string): Promise<boolean>;
};

/** Ends what a user was issued. Whoever issues it implements this: the authorization server. */
export type UserRevocation = {
  /** Signs the user out of every browser; apps stay connected. */
  endSessionsOf(userId: string): Promise<void>;
  /** Disconnects the apps that the user connected to the account. */
  endGrantsOf(userId: string, account: AccountKey): Promise<void>;
  /** Ends the user's sessions, grants and whatever was issued under them. */
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

/** The users, kept in the document store: they are no domain history. */
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

  /** Reads, changes, writes; again when somebody else wrote in between. */
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
      if (accounts.length === 0) return refuse('ValidationError', 'A user belongs to at least one account.');
      const weak = checkPassword(password);
      if (weak !== undefined) return weak;
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
      return added ? withoutHash(user) : refuse('ValidationError', `${address} is taken.`);
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
      if (password.length > PASSWORD_LENGTH.max) return undefined;
      const right = await isPassword(password, stored?.document.passwordHash);
      return right && stored !== undefined ? withoutHash(stored.document) : undefined;
    },

    async changePassword(id, password) {
      const weak = checkPassword(password);
      if (weak !== undefined) return weak;
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
          : refuse('ValidationError', 'A user belongs to at least one account; remove the user instead.');
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

/** An e-mail as it is stored and looked for, however it was typed. */
export const normalisedEmail = (email: string) => email.trim().normalize('NFC').toLowerCase();

// One @, something before it, a dotted or plain host after it: the mail server has the last word, not a pattern.
const isAddress = (email: string) => email.length <= 254 && /^[^\s@<>"]+@[^\s@<>"]+$/.test(email);

function checkPassword(password: string): Refusal | undefined {
  const { min, max } = PASSWORD_LENGTH;
  if (password.length >= min && password.length <= max) return undefined;
  return refuse('ValidationError', `A password has ${min} to ${max} characters.`);
}

const unique = (accounts: readonly Account[]): Account[] => [
  ...new Map(accounts.map((account) => [accountKey(account), account])).values(),
];

function withoutHash({ passwordHash: _, ...user }: UserDocument): User {
  return user;
}
