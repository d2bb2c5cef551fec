import type { Collection, DocumentStore, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import type { Role } from '../domain/roles.ts';
import { membershipsIn } from './memberships.ts';
import { roleOf, USERS, type UserDocument } from './user-record.ts';

type AccountMember = { readonly userId: string; readonly role: Role };

/**
 * An index of the members of one account, made from the records of the users, which are the truth. It decides who may stop being a Manager,
 * because it is one record for all of them (docs/decisions/accounts.md#the-last-manager).
 */
type AccountMembersDocument = {
  /** Users of whom some may have left. */
  readonly members: readonly string[];
  /** Those who count as Managers. Each is one in truth; a user stops counting before the record of the user changes. */
  readonly managers: readonly string[];
};

const ACCOUNT_MEMBERS: Collection<AccountMembersDocument> = { name: 'accountMembers', kind: 'record', indexes: [] };

const EMPTY: AccountMembersDocument = { members: [], managers: [] };

export type AccountMembers = Awaited<ReturnType<typeof openAccountMembers>>;

/** Who belongs to an account. */
export async function openAccountMembers(documents: Pick<DocumentStore, 'open'>) {
  const [index, users] = [await documents.open(ACCOUNT_MEMBERS), await documents.open(USERS)];

  /**
   * Writes records of users without changing them: a change that another process has decided on, but not made yet, starts over.
   * @returns false if one has another version by now
   */
  async function touchAll(read: readonly Stored<UserDocument>[]): Promise<boolean> {
    for (const stored of read) {
      const ifSame = (user: UserDocument | undefined, version: number) =>
        version === stored.version ? user : undefined;
      const { isChanged } = await users.update(stored.key, ifSame, { stored });
      if (!isChanged) return false;
    }
    return true;
  }

  /** Makes the index agree with the records of some users: of those that `chosen` gives of its members. */
  async function update(account: Account, chosen: (members: readonly string[]) => readonly string[]): Promise<void> {
    // The index is read before the users: a write of it in between shows that they may have changed since. So it is also written if
    // nothing changes in it.
    await index.update(accountKey(account), async (before = EMPTY) => {
      const ids = chosen(before.members);
      for (;;) {
        const read = await users.getMany(ids);
        const next = withMembers(withoutMembers(before, ids), account, read);
        const counted = read.filter(({ key }) => next.managers.includes(key) && !before.managers.includes(key));
        if (await touchAll(counted)) return next;
      }
    });
  }

  /** @returns false, without writing, if no other Manager would count */
  async function stopCounting(account: Account, userId: string, mayBeLast: boolean): Promise<boolean> {
    const { isChanged } = await index.update(accountKey(account), (document = EMPTY) => {
      const managers = document.managers.filter((id) => id !== userId);
      return mayBeLast || managers.length > 0 ? { ...document, managers } : undefined;
    });
    return isChanged;
  }

  return {
    /** The members of an account, in no order. */
    async membersOf(account: Account): Promise<readonly AccountMember[]> {
      const ids = (await index.get(accountKey(account)))?.document.members ?? [];
      return (await users.getMany(ids)).flatMap(({ key: userId, document }) => {
        const role = roleOf(document, account);
        return role === undefined ? [] : { userId, role };
      });
    },

    /** Call it after the record of the user has changed, or was not changed after {@link stopManaging}. */
    update: (account: Account, userId: string): Promise<void> => update(account, () => [userId]),

    /**
     * Call it between reading the record of a Manager and changing it so that the user is none; the change must fail if the record has another
     * version by then.
     * @param mayBeLast whether the account may be left without a Manager
     * @returns false if no other Manager would stay
     */
    async stopManaging(account: Account, userId: string, mayBeLast: boolean): Promise<boolean> {
      if (await stopCounting(account, userId, mayBeLast)) return true;
      // A process that died may have left a Manager who does not count. A touch of this user would fail the caller's own change.
      await update(account, (members) => members.filter((id) => id !== userId));
      return stopCounting(account, userId, mayBeLast);
    },
  };
}

/**
 * Makes the index of every account from the users: after a restore or an import, in which the records are of different moments. No process
 * may run on the store.
 */
export async function indexAllMembers(documents: OperatedDocumentStore): Promise<void> {
  await documents.drop(ACCOUNT_MEMBERS.name);
  const [index, users] = [await documents.open(ACCOUNT_MEMBERS), await documents.open(USERS)];
  const accounts = new Map<AccountKey, { readonly account: Account; readonly users: Stored<UserDocument>[] }>();
  for await (const user of users.find(everyDocument()))
    for (const { account } of membershipsIn(user.document))
      accounts.getOrInsertComputed(accountKey(account), () => ({ account, users: [] })).users.push(user);
  for (const [key, { account, users }] of accounts) await index.insert(key, withMembers(EMPTY, account, users));
}

const withoutMembers = ({ members, managers }: AccountMembersDocument, userIds: readonly string[]) => ({
  members: members.filter((id) => !userIds.includes(id)),
  managers: managers.filter((id) => !userIds.includes(id)),
});

function withMembers(
  { members, managers }: AccountMembersDocument,
  account: Account,
  users: readonly Stored<UserDocument>[],
): AccountMembersDocument {
  const rolesOf = users.map(({ key, document }) => ({ key, role: roleOf(document, account) }));
  const belonging = rolesOf.filter(({ role }) => role !== undefined);
  const managing = rolesOf.filter(({ role }) => role === 'Manager');
  return {
    members: [...members, ...belonging.map(({ key }) => key)],
    managers: [...managers, ...managing.map(({ key }) => key)],
  };
}
