import { afterAll, expect, test } from 'vitest';
import { createUsers, type Users } from '../../src/auth/users.ts';
import type { Account } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId } from '../../src/domain/ids.ts';
import type { Role } from '../../src/domain/roles.ts';
import { recordProof } from '../proof/proof.ts';
import { BY_OPERATOR, createChangeLog, NO_LOGGER } from './change-log.ts';
import { type Contents, copyOf, inEveryOrder, openStepped, type Step, textOf } from './stepped-store.ts';

const ACCOUNT: Account = { kind: 'Brand', id: brandId(1) };
const NOTHING_ELSE = async () => {};

const openUsers = (contents: Contents, step: Step): Promise<Users> =>
  createUsers({
    documents: openStepped(contents, step),
    endings: {
      ofChange: NOTHING_ELSE,
      ofUser: NOTHING_ELSE,
      ofAddress: NOTHING_ELSE,
      ofTexts: NOTHING_ELSE,
    },
    log: createChangeLog(),
    clock: () => 0,
    logger: NO_LOGGER,
  });

/** For a process beside which no other one runs. */
const AT_ONCE: Step = async (call) => call();

/** A store with these users, whose index agrees with them. */
function storeOf(roles: Readonly<Record<string, Role>>): Contents {
  const users = Object.entries(roles).map(([id, role]) => {
    const memberships = [{ account: ACCOUNT, role }];
    return { id, email: `${id}@example.com`, memberships, createdAt: '', passwordChangedAt: '', passwordHash: '' };
  });
  const managers = Object.keys(roles).filter((id) => roles[id] === 'Manager');
  const index = { members: Object.keys(roles), managers };
  const stored = (document: object) => ({ version: 1, text: JSON.stringify(document) });
  return new Map([
    ['users', new Map(users.map((user) => [user.id, stored(user)]))],
    ['accountMembers', new Map([['Brand:1', stored(index)]])],
  ]);
}

type StoredUser = { readonly id: string; readonly memberships: readonly { readonly role: string }[] };

/** The members, and those who are Managers, as the records of the users say. */
function truthIn(contents: Contents) {
  const users = [...(contents.get('users')?.values() ?? [])].map(({ text }): StoredUser => JSON.parse(text));
  const members = users.filter(({ memberships }) => memberships.length > 0);
  const managers = members.filter(({ memberships }) => memberships[0]?.role === 'Manager');
  return { members: members.map(({ id }) => id).sort(), managers: managers.map(({ id }) => id).sort() };
}

function indexIn(contents: Contents) {
  const text = contents.get('accountMembers')?.get('Brand:1')?.text ?? '{}';
  const { members, managers }: { readonly members: string[]; readonly managers: string[] } = JSON.parse(text);
  return { members: members.sort(), managers: managers.sort() };
}

/** What is true at every moment, and what a process finds that goes on alone. */
function createCheck() {
  const known = new Set<string>();
  return async ({ contents, isOver }: { readonly contents: Contents; readonly isOver: boolean }) => {
    const { managers } = truthIn(contents);
    expect(managers).not.toEqual([]);
    expect(managers).toEqual(expect.arrayContaining(indexIn(contents).managers));
    if (isOver) expect(indexIn(contents)).toEqual(truthIn(contents));
    const text = textOf(contents);
    if (known.has(text)) return;
    known.add(text);

    // All others have died. Each Manager but the last can be demoted, and then the index agrees with the users.
    const left = copyOf(contents);
    const users = await openUsers(left, AT_ONCE);
    await users.finishChanges();
    for (const [index, id] of managers.entries()) {
      const outcome = await users.setRole(id, ACCOUNT, 'Viewer', BY_OPERATOR);
      expect(isRefusal(outcome), `${id} of ${managers}`).toBe(index === managers.length - 1);
    }
    expect(indexIn(left)).toEqual(truthIn(left));
  };
}

type Change = (users: Users) => Promise<unknown>;
const demote =
  (id: string): Change =>
  (users) =>
    users.setRole(id, ACCOUNT, 'Viewer', BY_OPERATOR);
const promote =
  (id: string): Change =>
  (users) =>
    users.setRole(id, ACCOUNT, 'Manager', BY_OPERATOR);
const remove =
  (id: string): Change =>
  (users) =>
    users.removeMember(id, ACCOUNT, BY_OPERATOR);

/** Each process makes its changes one after another. */
const processesOf = (...each: readonly (readonly Change[])[]) =>
  each.map((changes) => async (contents: Contents, step: Step) => {
    const users = await openUsers(contents, step);
    for (const change of changes) await change(users);
  });

const TWO = { a: 'Manager', b: 'Manager' } as const;
const NEW = { a: 'Manager', b: 'Viewer' } as const;
const THREE = { ...TWO, c: 'Manager' } as const;

const WAYS = 7;
/** The moments of each way that has passed. */
const passed: number[] = [];
afterAll(() => {
  if (passed.length < WAYS) return;
  recordProof({
    search: 'orders of store calls: `npm test -- test/auth/last-manager`',
    promise: 'an account keeps a Manager, and index and users agree in the end, also if a process dies',
    tried: `${passed.reduce((sum, moments) => sum + moments)} moments of ${WAYS} ways to demote and remove at once`,
  });
});

test.each([
  ['two who demote each other', TWO, 3, processesOf([demote('b')], [demote('a')])],
  ['two who demote and remove each other', TWO, 2, processesOf([demote('b')], [remove('a')])],
  ['one whom two processes remove and demote', TWO, 2, processesOf([remove('a')], [demote('a')])],
  ['one who becomes a Manager again', TWO, 2, processesOf([demote('a'), promote('a')], [demote('b')])],
  ['one who becomes one meanwhile', NEW, 2, processesOf([promote('b')], [demote('a')])],
  ['three who demote each other', THREE, 1, processesOf([demote('b')], [demote('c')], [demote('a')])],
  ['three who demote and remove each other', THREE, 1, processesOf([remove('b')], [demote('c')], [remove('a')])],
])(
  '%s, in any order of steps, also if a process dies',
  { timeout: 60_000 },
  async (_, roles, interruptions, processes) => {
    const moments = await inEveryOrder({
      contents: storeOf(roles),
      processes,
      interruptions,
      mostSteps: 40,
      check: createCheck(),
    });
    expect(moments).toBeGreaterThan(500);
    passed.push(moments);
  },
);
