import type { DocumentStore, Documents, Find } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { normalisedEmail } from '../domain/email-address.ts';
import { hasLength, PASSWORD } from '../domain/limits.ts';
import type { Role } from '../domain/roles.ts';
import { isPassword } from './passwords.ts';
import { isUser, roleOf, USERS, type User, type UserDocument, withoutHash } from './user-record.ts';

const withEmail = declareQuery(USERS, (email: string): Find<UserDocument> => ({ where: { email }, limit: 1 }), [
  'ada@example.com',
]);

export type UserLookups = ReturnType<typeof createUserLookups>;

export const openUserLookups = async (documents: DocumentStore): Promise<UserLookups> =>
  createUserLookups(await documents.open(USERS));

/** Finds users. A removed user is not found, even while its record is still there. */
export function createUserLookups(users: Documents<UserDocument>) {
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

    /** The role of a user in an account now, read from the store each time; undefined if the user does not belong to it. */
    async roleIn(id: string, account: Account): Promise<Role | undefined> {
      const stored = await users.get(id);
      return stored && roleOf(stored.document, account);
    },

    async byEmail(email: string): Promise<User | undefined> {
      const user = await find(email);
      return user && withoutHash(user);
    },

    /** The users who belong to the account, or all users, ordered by e-mail. */
    async list(account?: Account): Promise<User[]> {
      const members: User[] = [];
      for await (const { document } of users.find(everyDocument()))
        if (isUser(document) && (account === undefined || roleOf(document, account) !== undefined))
          members.push(withoutHash(document));
      return members.sort((a, b) => (a.email < b.email ? -1 : 1));
    },

    /**
     * Takes equally long for an unknown e-mail and a wrong password.
     * @param from the address that the password came from
     */
    async verifyPassword(email: string, password: string, from?: string): Promise<User | undefined> {
      const user = await find(email);
      if (!hasLength(password, { ...PASSWORD, min: 0 })) return undefined;
      const right = await isPassword(password, user?.passwordHash, from);
      return right && user !== undefined ? withoutHash(user) : undefined;
    },
  };
}
