import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { indexAllMembers } from '../../src/auth/account-members.ts';
import { roleIn } from '../../src/auth/memberships.ts';
import type { User, Users } from '../../src/auth/users.ts';
import type { Collection, OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { ROLES, type Role } from '../../src/domain/roles.ts';
import { accepted } from '../accepted.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { createRandom } from '../soak/random.ts';
import { BY_OPERATOR, openUsers } from './change-log.ts';

const password = 'correct horse battery';
const LAST = { refused: 'ValidationError', details: expect.stringContaining('last Manager') };

type StoredUser = { readonly memberships: readonly { readonly account: Account; readonly role: string }[] };
const USERS: Collection<StoredUser> = { name: 'users', kind: 'record', indexes: [] };

describe.each(documentEngines)('members of an account on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let documents: OperatedDocumentStore;
  let users: Users;
  let others: Users;
  let log: Awaited<ReturnType<typeof openUsers>>['log'];
  let numbers = 0;

  beforeAll(async () => {
    database = await createDatabase();
    documents = await database.open();
    ({ users, log } = await openUsers(documents, Date.now));
    // As another process would open them.
    ({ users: others } = await openUsers(await database.open(), Date.now));
  });
  afterAll(() => database.remove());

  const newAccount = (): Account => ({ kind: 'Community', id: communityId(++numbers) });
  const add = async (account: Account, role: Role): Promise<User> =>
    accepted(await users.add({ email: `u${++numbers}@example.com`, password, accounts: [account], role }, BY_OPERATOR));

  async function rolesIn(account: Account): Promise<ReadonlyMap<string, Role | undefined>> {
    const list = await users.list(account);
    return new Map(list.map((user) => [user.id, roleIn(user, account)]));
  }
  const recorded = async (account: Account, by = users) =>
    new Map((await by.membersOf(account)).map(({ userId, role }) => [userId, role]));
  const managersIn = async (account: Account) =>
    [...(await rolesIn(account))].filter(([, role]) => role === 'Manager').map(([id]) => id);

  test('a role that only a later release knows allows nothing, and stays', async () => {
    const account = newAccount();
    const { id } = await add(account, 'Manager');
    const stored = await documents.open(USERS);
    const later = { account, role: 'Owner' };
    await stored.update(id, (user) => user && { ...user, memberships: [later] });
    expect((await users.get(id))?.memberships).toEqual([]);
    accepted(await users.addAccount(id, { kind: 'Brand', id: brandId(1) }, 'Viewer', BY_OPERATOR));
    expect((await stored.get(id))?.document.memberships).toContainEqual(later);
    expect(await users.remove(id, BY_OPERATOR)).toBe(true);
    expect(log.told.filter(({ change }) => change.type === 'MemberRemoved').length).toBeGreaterThanOrEqual(2);
  });

  test('a role changes in the record of the user, in the index and in the log', async () => {
    const account = newAccount();
    await add(account, 'Manager');
    const { id } = await add(account, 'Viewer');
    for (const role of ['Coordinator', 'Manager', 'Viewer'] as const) {
      accepted(await users.setRole(id, account, role, BY_OPERATOR));
      expect((await rolesIn(account)).get(id)).toBe(role);
      expect((await recorded(account)).get(id)).toBe(role);
    }
    accepted(await users.setRole(id, account, 'Viewer', BY_OPERATOR));
    const changes = log.told.flatMap(({ change: { type, data } }) =>
      'role' in data && 'userId' in data && data.userId === id ? [`${type} ${data.role}`] : [],
    );
    expect(changes).toEqual([
      'MemberAdded Viewer',
      'MemberRoleChanged Coordinator',
      'MemberRoleChanged Manager',
      'MemberRoleChanged Viewer',
    ]);
    expect(await users.setRole(id, newAccount(), 'Viewer', BY_OPERATOR)).toMatchObject({ refused: 'ResourceNotFound' });
  });

  test('the last Manager stays while two processes change members at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const account = newAccount();
      const [a, b] = [await add(account, 'Manager'), await add(account, 'Manager')];
      const outcomes = await Promise.all([
        round % 2 === 0
          ? users.setRole(a.id, account, 'Viewer', BY_OPERATOR)
          : users.removeMember(a.id, account, BY_OPERATOR),
        others.setRole(b.id, account, 'Coordinator', BY_OPERATOR),
      ]);
      expect(outcomes.filter(isRefusal)).toEqual([LAST]);
      expect(await managersIn(account)).toHaveLength(1);
      expect(await recorded(account)).toEqual(await rolesIn(account));
    }
  });

  test('any changes of any members at once leave a Manager, and an index that agrees with the users', async () => {
    const random = createRandom(7);
    for (let round = 0; round < 8; round += 1) {
      const account = newAccount();
      const ids: string[] = [];
      for (const role of ['Manager', 'Manager', 'Manager', 'Viewer'] as const) ids.push((await add(account, role)).id);
      const changes = Array.from({ length: 24 }, () => {
        const by = random.between(0, 1) === 0 ? users : others;
        const id = ids[random.between(0, ids.length - 1)] ?? '';
        const role = ROLES[random.between(0, ROLES.length - 1)] ?? 'Viewer';
        return random.between(0, 9) === 0
          ? () => by.removeMember(id, account, BY_OPERATOR)
          : () => by.setRole(id, account, role, BY_OPERATOR);
      });
      await Promise.all(changes.map((change) => change()));
      expect((await managersIn(account)).length).toBeGreaterThan(0);
      expect(await recorded(account, others)).toEqual(await rolesIn(account));
    }
  });

  test('the index is made again from the users after a restore', async () => {
    const account = newAccount();
    const [a, b] = [await add(account, 'Manager'), await add(account, 'Manager')];
    const gone = newAccount();
    const index = await documents.open<object>({ name: 'accountMembers', kind: 'record', indexes: [] });
    for (const key of [account, gone].map(accountKey))
      await index.update(key, () => ({ members: ['usr_gone', a.id], managers: ['usr_gone'] }));
    await indexAllMembers(documents);
    expect(await index.get(accountKey(gone))).toBeUndefined();
    expect(await recorded(account)).toEqual(await rolesIn(account));
    accepted(await users.setRole(a.id, account, 'Viewer', BY_OPERATOR));
    expect(await users.setRole(b.id, account, 'Viewer', BY_OPERATOR)).toMatchObject(LAST);
  });

  test('a process that dies before it changes the user leaves nothing behind', async () => {
    const account = newAccount();
    const [a, b] = [await add(account, 'Manager'), await add(account, 'Manager')];
    const dies = async () => {
      throw new Error('died');
    };
    const dying = await openUsers(beforeUpdates(documents, a.id, dies), Date.now);
    await expect(dying.users.setRole(a.id, account, 'Viewer', BY_OPERATOR)).rejects.toThrow('died');
    expect((await rolesIn(account)).get(a.id)).toBe('Manager');
    accepted(await users.setRole(b.id, account, 'Viewer', BY_OPERATOR));
    expect(await users.setRole(a.id, account, 'Viewer', BY_OPERATOR)).toMatchObject(LAST);
    expect(await recorded(account)).toEqual(await rolesIn(account));
  });

  test('a change that was slow, and that another process has undone meanwhile, is decided again', async () => {
    const account = newAccount();
    const [a, b] = [await add(account, 'Manager'), await add(account, 'Manager')];
    const { promise: isWriting, resolve: writes } = Promise.withResolvers<void>();
    const { promise: goesOn, resolve: go } = Promise.withResolvers<void>();
    const slow = await openUsers(
      beforeUpdates(documents, a.id, () => {
        writes();
        return goesOn;
      }),
      Date.now,
    );
    const demoting = slow.users.setRole(a.id, account, 'Viewer', BY_OPERATOR);
    await isWriting;
    accepted(await others.setRole(b.id, account, 'Viewer', BY_OPERATOR));
    go();
    expect(await demoting).toMatchObject(LAST);
    expect(await managersIn(account)).toEqual([a.id]);
    expect(await recorded(account)).toEqual(await rolesIn(account));
  });

  test('the operator may remove the last Manager; a Manager removes a user who belongs to no other account', async () => {
    const account = newAccount();
    const [a, b] = [await add(account, 'Manager'), await add(account, 'Coordinator')];
    expect(await users.removeMember(a.id, account, BY_OPERATOR)).toMatchObject(LAST);
    accepted(await users.removeMember(b.id, account, BY_OPERATOR));
    expect(await users.get(b.id)).toBeUndefined();
    const elsewhere = newAccount();
    accepted(await users.addAccount(a.id, elsewhere, 'Viewer', BY_OPERATOR));
    accepted(await users.removeAccount(a.id, account, BY_OPERATOR));
    expect((await users.get(a.id))?.memberships).toEqual([{ account: elsewhere, role: 'Viewer' }]);
    expect(await users.remove(a.id, BY_OPERATOR)).toBe(true);
    for (const each of [account, elsewhere]) expect(await recorded(each)).toEqual(new Map());
  });
});

/** A store in which something happens before the record of this user is changed. */
function beforeUpdates(
  documents: OperatedDocumentStore,
  userId: string,
  happens: () => Promise<void>,
): OperatedDocumentStore {
  return {
    ...documents,
    async open(collection) {
      const opened = await documents.open(collection);
      if (collection.name !== 'users') return opened;
      return {
        ...opened,
        async update(key, ...rest) {
          if (key === userId) await happens();
          return opened.update(key, ...rest);
        },
      };
    },
  };
}
