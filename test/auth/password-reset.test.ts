import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createAddressConfirmation } from '../../src/auth/address-confirmation.ts';
import { createPasswordReset } from '../../src/auth/password-reset.ts';
import type { User } from '../../src/auth/users.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { documentEngines } from '../document-store/engines.ts';
import { BY_OPERATOR, NO_LOGGER, openUsers } from './change-log.ts';
import { linkDeps, PUBLIC_URL, tokenOf } from './mails.ts';

const brand: Account = { kind: 'Brand', id: brandId(1) };
const community: Account = { kind: 'Community', id: communityId(1) };
const [password, next] = ['correct horse battery', 'another good password'] as const;
const HOUR = 3_600_000;
const REQUEST = { correlationId: 'request-1' };

describe.each(documentEngines)('links to a user, on %s', (_name, createDatabase) => {
  let now = Date.parse('2026-11-27T12:00:00Z');
  let wait = 0;
  let ada: User;
  let deps: ReturnType<typeof linkDeps>;
  let opened: Awaited<ReturnType<typeof openUsers>>;
  let reset: ReturnType<typeof createPasswordReset>;
  let confirmation: ReturnType<typeof createAddressConfirmation>;

  beforeEach(async () => {
    const database = await createDatabase();
    onTestFinished(() => database.remove());
    opened = await openUsers(await database.open(), () => now);
    const { users } = opened;
    deps = linkDeps(() => now);
    reset = createPasswordReset({ ...deps, users, logger: NO_LOGGER, delayMs: () => 0 });
    confirmation = createAddressConfirmation({ ...deps, users, countChange: async () => wait });
    const email = 'ada@example.com';
    ada = accepted(await users.add({ email, password, accounts: [brand, community] }, BY_OPERATOR));
    now += 1_000;
  });

  const stored = async () => {
    const user = await opened.users.get(ada.id);
    if (user === undefined) throw new Error('The user is gone');
    return user;
  };
  const tell = () => opened.log.told.map(({ change: { type, data } }) => `${type} ${accountKey(data.account)}`);

  test('a known address gets one mail in five minutes, an unknown one none', async () => {
    for (let clicks = 0; clicks < 1_000; clicks += 1) reset.request(' ADA@example.com ');
    reset.request('unknown@example.com');
    // Nothing is looked up before the answer.
    expect(deps.sent).toEqual([]);
    await reset.settled();
    expect(deps.sent).toEqual([
      {
        kind: 'PasswordReset',
        cause: expect.stringMatching(/^slot-\d+$/),
        userId: ada.id,
        about: {},
        at: expect.any(String),
      },
    ]);
    expect(JSON.stringify(deps.sent)).not.toContain('example.com');
    now += 5 * 60_000;
    reset.request('ada@example.com');
    await reset.settled();
    expect(deps.sent).toHaveLength(2);
  });

  test('the link of a mail sets the password once, confirms the address and ends the sessions', async () => {
    const link = reset.mailed(ada, now);
    expect(link.url.startsWith(`${PUBLIC_URL}/console/password/new?link=`)).toBe(true);
    expect(reset.mailed(await stored(), now)).toEqual(link);
    const token = tokenOf(link);
    expect(await reset.check(token)).toEqual({ user: ada, isMailed: true });
    expect(await reset.reset(token, 'short', REQUEST)).toMatchObject({ refused: 'ValidationError' });
    const uses = await Promise.all([next, 'a third good password'].map((each) => reset.reset(token, each, REQUEST)));
    expect(uses.filter(isRefusal)).toHaveLength(1);
    expect(uses.find((each) => !isRefusal(each))).toMatchObject({ emailConfirmedAt: new Date(now).toISOString() });
    expect(await opened.users.verifyPassword(ada.email, password)).toBeUndefined();
    expect(await reset.reset(token, next, REQUEST)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(tell().slice(2)).toEqual(['PasswordChanged Brand:1', 'PasswordChanged Community:1']);
    // Each account sees its own member as the actor, and nothing of the other account.
    expect(opened.log.told.slice(2).map(({ context }) => context)).toEqual(
      [brand, community].map((account) => ({ ...REQUEST, actor: { kind: 'user', id: ada.id, account } })),
    );
  });

  test('a link of the operator does not confirm the address', async () => {
    const token = tokenOf(reset.printed(ada));
    expect(await reset.check(token)).toMatchObject({ isMailed: false });
    expect(accepted(await reset.reset(token, next, REQUEST))).not.toHaveProperty('emailConfirmedAt');
    expect(await opened.users.verifyPassword(ada.email, next)).toMatchObject({ id: ada.id });
  });

  test('a link ends after an hour, with another password or address, and with its user', async () => {
    const token = tokenOf(reset.mailed(ada, now));
    now += HOUR - 1_000;
    expect(await reset.check(token)).toBeDefined();
    now += 1_000;
    expect(await reset.check(token)).toBeUndefined();
    const second = tokenOf(reset.mailed(ada, now));
    accepted(await opened.users.changePassword(ada.id, next, BY_OPERATOR));
    expect(await reset.check(second)).toBeUndefined();
    const third = tokenOf(reset.mailed(await stored(), now));
    await opened.users.requestEmail(ada.id, 'ada@example.org', BY_OPERATOR);
    accepted(await opened.users.confirmEmail(await stored(), BY_OPERATOR));
    expect(await reset.check(third)).toBeUndefined();
    const fourth = tokenOf(reset.mailed(await stored(), now));
    await opened.users.remove(ada.id, BY_OPERATOR);
    expect(await reset.check(fourth)).toBeUndefined();
  });

  test('a link does nothing where another kind of link is expected', async () => {
    const token = tokenOf(reset.mailed(ada, now));
    expect(await confirmation.check(token)).toBeUndefined();
    expect(await reset.check(tokenOf(confirmation.mailed(ada, now)))).toBeUndefined();
  });

  test('a new address replaces the current one once it is confirmed', async () => {
    expect(await confirmation.requestChange(ada, 'ada @example.org', BY_OPERATOR)).toMatchObject({
      refused: 'ValidationError',
    });
    expect(await confirmation.requestChange(ada, 'Ada@Example.org', BY_OPERATOR)).toBeUndefined();
    expect(deps.sent.map(({ about }) => about)).toEqual([{ notice: 'change' }, {}]);
    expect(await stored()).toMatchObject({ email: 'ada@example.com', pendingEmail: 'ada@example.org' });
    const token = tokenOf(confirmation.mailed(await stored(), now));
    const confirmed = accepted(await confirmation.confirm(token, REQUEST));
    expect(confirmed).toMatchObject({ email: 'ada@example.org', emailConfirmedAt: new Date(now).toISOString() });
    expect(confirmed).not.toHaveProperty('pendingEmail');
    expect(await confirmation.confirm(token, REQUEST)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(tell().slice(2)).toEqual(['EmailChanged Brand:1', 'EmailChanged Community:1']);
    expect(JSON.stringify(opened.log.told)).not.toContain('example.');
    expect(await opened.users.byEmail('ada@example.com')).toBeUndefined();
  });

  test('too many changes of an address are refused before any mail', async () => {
    wait = 1;
    expect(await confirmation.requestChange(ada, 'ada@example.org', BY_OPERATOR)).toMatchObject({
      details: /too many changes/,
    });
    wait = 0;
    expect(deps.sent).toEqual([]);
    expect(await stored()).not.toHaveProperty('pendingEmail');
  });

  test('links to an address that a user only wants to have are limited, those to the own address are not', async () => {
    await confirmation.requestChange(ada, 'stranger@example.org', BY_OPERATOR);
    const before = deps.sent.length;
    now += HOUR;
    wait = 1;
    expect(await confirmation.request(await stored())).toMatchObject({ details: /too many changes/ });
    expect(deps.sent).toHaveLength(before);
    expect(await confirmation.request(ada)).toBeUndefined();
    expect(deps.sent).toHaveLength(before + 1);
    wait = 0;
    now += HOUR;
    expect(await confirmation.request(await stored())).toBeUndefined();
    expect(deps.sent).toHaveLength(before + 2);
  });

  test('nothing tells that an address is taken, until its owner confirms it', async () => {
    const other = { email: 'bob@example.com', password, accounts: [brand] };
    accepted(await opened.users.add(other, BY_OPERATOR));
    expect(await confirmation.requestChange(ada, other.email, BY_OPERATOR)).toBeUndefined();
    const token = tokenOf(confirmation.mailed(await stored(), now));
    expect(await confirmation.confirm(token, REQUEST)).toMatchObject({ details: 'This address cannot be used.' });
    expect(await stored()).toMatchObject({ email: 'ada@example.com' });
  });

  test('another password takes back a change of the address', async () => {
    await confirmation.requestChange(ada, 'thief@example.com', BY_OPERATOR);
    const token = tokenOf(confirmation.mailed(await stored(), now));
    accepted(await opened.users.changePassword(ada.id, next, BY_OPERATOR));
    expect(await confirmation.confirm(token, REQUEST)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await stored()).not.toHaveProperty('pendingEmail');
  });

  test('the current address can be confirmed, and entering it takes back a change', async () => {
    await confirmation.requestChange(ada, 'ada@example.org', BY_OPERATOR);
    await confirmation.requestChange(await stored(), ada.email, BY_OPERATOR);
    expect(await stored()).not.toHaveProperty('pendingEmail');
    const token = tokenOf(confirmation.mailed(await stored(), now));
    expect(accepted(await confirmation.confirm(token, REQUEST))).toMatchObject({ email: ada.email });
    // The address is the same, so the log has nothing to say.
    expect(tell().slice(2)).toEqual([]);
    expect((await stored()).emailConfirmedAt).toBeDefined();
  });
});
