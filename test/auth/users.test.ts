import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { User, Users } from '../../src/auth/users.ts';
import type { Account } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { BY_OPERATOR, openUsers } from './change-log.ts';

const brand: Account = { kind: 'Brand', id: brandId(1) };
const community: Account = { kind: 'Community', id: communityId(1) };
const password = 'correct horse battery';

describe.each(documentEngines)('users on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let users: Users;
  let now = Date.parse('2026-01-01T00:00:00Z');

  beforeAll(async () => {
    database = await createDatabase();
    const documents = await database.open();
    ({ users } = await openUsers(documents, () => now));
  });
  afterAll(() => database.remove());

  async function added(email: string): Promise<User> {
    const user = await users.add({ email, password, accounts: [brand] }, BY_OPERATOR);
    if (isRefusal(user)) throw new Error(user.details);
    return user;
  }

  test('a user signs in with any spelling of the e-mail and only with the right password', async () => {
    const user = await added('  Ada@Example.com ');
    expect(user.email).toBe('ada@example.com');
    expect(await users.verifyPassword('ADA@example.com', password)).toEqual(user);
    expect(await users.verifyPassword('ada@example.com', `${password}!`)).toBeUndefined();
    expect(await users.verifyPassword('nobody@example.com', password)).toBeUndefined();
    expect(await users.verifyPassword('ada@example.com', '')).toBeUndefined();
  });

  test('a password matches in any Unicode normalization form', async () => {
    const user = await users.add(
      { email: 'nfc@example.com', password: 'caf\u00e9 au lait', accounts: [brand] },
      BY_OPERATOR,
    );
    expect(await users.verifyPassword('nfc@example.com', 'cafe\u0301 au lait')).toEqual(user);
  });

  test('an e-mail is unique, even when added concurrently or in a different case', async () => {
    const outcomes = await Promise.all(
      ['Twin@example.com', 'twin@EXAMPLE.com'].map((email) =>
        users.add({ email, password, accounts: [brand] }, BY_OPERATOR),
      ),
    );
    expect(outcomes.filter(isRefusal)).toHaveLength(1);
  });

  test('of several who take an address in one moment, one gets it and each other one is told at once', async () => {
    const wanting = async (email: string, wanted: string) => {
      const user = await added(email);
      const asked = await users.requestEmail(user.id, wanted, BY_OPERATOR);
      return isRefusal(asked) ? expect.unreachable(asked.details) : asked;
    };
    const first = await Promise.all(['one@example.com', 'two@example.com'].map((own) => wanting(own, 'a@example.com')));
    const confirmed = await Promise.all(first.map((user) => users.confirmEmail(user, BY_OPERATOR)));
    expect(confirmed.filter(isRefusal)).toMatchObject([{ details: 'This address cannot be used.' }]);
    const [third] = await Promise.all([wanting('three@example.com', 'b@example.com')]);
    const outcomes = await Promise.all([
      users.confirmEmail(third, BY_OPERATOR),
      users.add({ email: 'b@example.com', password, accounts: [brand] }, BY_OPERATOR),
    ]);
    expect(outcomes.filter(isRefusal)).toHaveLength(1);
    for (const address of ['a@example.com', 'b@example.com']) expect(await users.byEmail(address)).toBeDefined();
  });

  test('refuses a malformed e-mail, a password that is too short or too long, and a user without an account', async () => {
    for (const email of ['', 'ada', '@example.com', 'a b@example.com', `${'x'.repeat(250)}@example.com`])
      expect(await users.add({ email, password, accounts: [brand] }, BY_OPERATOR)).toMatchObject({
        refused: 'ValidationError',
      });
    for (const wrong of ['short', 'x'.repeat(257)])
      expect(
        await users.add({ email: 'p@example.com', password: wrong, accounts: [brand] }, BY_OPERATOR),
      ).toMatchObject({
        refused: 'ValidationError',
        details: 'The password must have 10 to 256 characters.',
      });
    expect(await users.add({ email: 'p@example.com', password, accounts: [] }, BY_OPERATOR)).toMatchObject({
      refused: 'ValidationError',
    });
  });

  test('counts the characters of a password, not their code units', async () => {
    const emoji = '\u{1F389}'.repeat(256);
    const user = await users.add({ email: 'emoji@example.com', password: emoji, accounts: [brand] }, BY_OPERATOR);
    expect(await users.verifyPassword('emoji@example.com', emoji)).toEqual(user);
    expect(await users.verifyPassword('emoji@example.com', `${emoji}!`)).toBeUndefined();
  });

  test('a changed password replaces the old one and records when it changed', async () => {
    const user = await added('change@example.com');
    now += 60_000;
    const changed = await users.changePassword(user.id, 'another long one', BY_OPERATOR);
    expect(changed).toMatchObject({ passwordChangedAt: '2026-01-01T00:01:00.000Z' });
    expect(await users.verifyPassword(user.email, password)).toBeUndefined();
    expect(await users.verifyPassword(user.email, 'another long one')).toMatchObject({ id: user.id });
    expect(await users.changePassword('usr_nobody', 'another long one', BY_OPERATOR)).toMatchObject({
      refused: 'ResourceNotFound',
    });
  });

  test('a user belongs to at least one account, and to each only once', async () => {
    const user = await added('several@example.com');
    await Promise.all([
      users.addAccount(user.id, community, 'Manager', BY_OPERATOR),
      users.addAccount(user.id, community, 'Manager', BY_OPERATOR),
    ]);
    expect((await users.get(user.id))?.memberships.map(({ account }) => account)).toEqual([brand, community]);
    expect((await users.list(community)).map(({ email }) => email)).toEqual(['several@example.com']);
    await users.removeAccount(user.id, brand, BY_OPERATOR);
    expect(await users.removeAccount(user.id, community, BY_OPERATOR)).toMatchObject({ refused: 'ValidationError' });
    expect((await users.get(user.id))?.memberships).toEqual([{ account: community, role: 'Manager' }]);
  });

  test('a role that a colleague has changed is not overwritten by one who saw the former role', async () => {
    const { id } = await added('promoted@example.com');
    await added('other@example.com');
    await users.setRole(id, brand, 'Viewer', BY_OPERATOR, 'Manager');
    await users.setRole(id, brand, 'Manager', BY_OPERATOR, 'Viewer');
    expect(await users.setRole(id, brand, 'Coordinator', BY_OPERATOR, 'Viewer')).toMatchObject({
      details: 'This member is a Manager by now. Nothing was changed: choose again.',
    });
    expect((await users.get(id))?.memberships).toEqual([{ account: brand, role: 'Manager' }]);
  });

  test('removing a user frees the e-mail', async () => {
    const user = await added('gone@example.com');
    expect(await users.remove(user.id, BY_OPERATOR)).toBe(true);
    expect(await users.remove(user.id, BY_OPERATOR)).toBe(false);
    expect(await users.byEmail('gone@example.com')).toBeUndefined();
    expect(await users.verifyPassword('gone@example.com', password)).toBeUndefined();
    await added('gone@example.com');
  });

  test('never returns the password hash', async () => {
    const answers = [await added('hash@example.com'), await users.list(), await users.byEmail('hash@example.com')];
    expect(JSON.stringify(answers)).not.toMatch(/argon2|hash"/i);
  });
});
