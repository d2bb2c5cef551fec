import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createChangeFollowUp } from '../../src/auth/change-follow-up.ts';
import type { Endings } from '../../src/auth/endings.ts';
import { createUsers, type User } from '../../src/auth/users.ts';
import { createRevocation } from '../../src/authorization-server/revocation.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { LogUnavailable } from '../../src/runtime/unavailable.ts';
import { accepted } from '../accepted.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { eventually } from '../eventually.ts';
import { BY_OPERATOR, createChangeLog, endingsOf, NO_LOGGER } from './change-log.ts';

const brand: Account = { kind: 'Brand', id: brandId(1) };
const community: Account = { kind: 'Community', id: communityId(1) };
const password = 'correct horse battery';
const email = 'ada@example.com';
const accountsOf = (user: User | undefined) => user?.memberships.map(({ account }) => account);
const ada = { email, password, accounts: [brand, community] };

describe.each(documentEngines)('events about users, on %s', (_name, createDatabase) => {
  let documents: OperatedDocumentStore;
  /** The steps that currently fail, as if the process had died there. */
  const fails: { log: boolean; feeds: boolean; revocation: boolean; of: string | undefined } = {
    log: false,
    feeds: false,
    revocation: false,
    of: undefined,
  };

  beforeEach(async () => {
    const database: TestDatabase = await createDatabase();
    onTestFinished(() => database.remove());
    documents = await database.open();
    Object.assign(fails, { log: false, feeds: false, revocation: false, of: undefined });
  });

  async function open() {
    const log = createChangeLog();
    const telling = {
      record(...told: Parameters<typeof log.record>) {
        log.fails(fails.log);
        return log.record(...told);
      },
    };
    const deps = { documents, log: telling, clock: Date.now, logger: NO_LOGGER };
    const actual = endingsOf(await createRevocation(deps));
    const endedGrants: string[] = [];
    const endedSessions: string[] = [];
    const endings: Endings = {
      ...actual,
      async ofChange(user, event, context) {
        const { id } = user;
        if (event.type === 'PasswordChanged') endedSessions.push(id);
        if (event.type !== 'MemberRemoved') return;
        if (fails.revocation || fails.of === id) throw new Error('The store does not answer');
        if (fails.feeds) throw new LogUnavailable('The event log does not answer');
        endedGrants.push(`${id} ${accountKey(event.data.account)}`);
        if (user.isRemoved) await actual.ofUser(id, context);
      },
    };
    const users = await createUsers({ ...deps, endings });
    const told = () => log.told.map(({ change: { type, data } }) => `${type} ${accountKey(data.account)}`);
    return { users, endedGrants, endedSessions, log, told };
  }

  /** All stored data of users. */
  async function stored(): Promise<string> {
    const records = await documents.open<object>({ name: 'users', kind: 'record', indexes: [] });
    return JSON.stringify(await Array.fromAsync(records.find(everyDocument())));
  }

  test('records each change with its actor, per account, without personal data', async () => {
    const { users, told, log } = await open();
    const { id } = accepted(await users.add({ ...ada, accounts: [brand] }, BY_OPERATOR));
    accepted(await users.addAccount(id, community, 'Manager', BY_OPERATOR));
    accepted(await users.changePassword(id, 'another long one', BY_OPERATOR));
    accepted(await users.removeAccount(id, brand, BY_OPERATOR));
    await users.remove(id, BY_OPERATOR);
    expect(told()).toEqual([
      'MemberAdded Brand:1',
      'MemberAdded Community:1',
      'PasswordChanged Brand:1',
      'PasswordChanged Community:1',
      'MemberRemoved Brand:1',
      'MemberRemoved Community:1',
    ]);
    for (const { change, context } of log.told) {
      expect(change.data).toMatchObject({ userId: id, changeId: expect.any(String) });
      expect(context).toEqual(BY_OPERATOR);
    }
    expect(JSON.stringify(log.told)).not.toMatch(/ada@|example|argon|another|horse/);
  });

  test('lets a user leave while the log that feeds end in is unavailable, and finishes that later', async () => {
    const { users, told, endedGrants } = await open();
    const { id } = accepted(await users.add(ada, BY_OPERATOR));
    fails.feeds = true;
    expect(accountsOf(accepted(await users.removeAccount(id, brand, BY_OPERATOR)))).toEqual([community]);
    expect(told()).not.toContain('MemberRemoved Brand:1');
    fails.feeds = false;
    await users.finishChanges();
    expect(endedGrants).toEqual([`${id} Brand:1`]);
    expect(told()).toContain('MemberRemoved Brand:1');
  });

  test('records no event for a change that is refused or has no effect', async () => {
    const { users, told } = await open();
    const { id } = accepted(await users.add({ ...ada, accounts: [brand] }, BY_OPERATOR));
    expect(await users.add(ada, BY_OPERATOR)).toMatchObject({ refused: 'ValidationError' });
    expect(await users.removeAccount(id, brand, BY_OPERATOR)).toMatchObject({ refused: 'ValidationError' });
    accepted(await users.addAccount(id, brand, 'Manager', BY_OPERATOR));
    accepted(await users.removeAccount(id, community, BY_OPERATOR));
    expect(await users.changePassword(id, 'short', BY_OPERATOR)).toMatchObject({ refused: 'ValidationError' });
    expect(told()).toEqual(['MemberAdded Brand:1']);
  });

  test('while the log is down, changes take effect, and their events follow later exactly once, with the actor', async () => {
    const { users } = await open();
    fails.log = true;
    const { id } = accepted(await users.add(ada, BY_OPERATOR));
    accepted(await users.removeAccount(id, brand, { ...BY_OPERATOR, correlationId: 'second' }));
    expect(accountsOf(await users.get(id))).toEqual([community]);
    expect(JSON.stringify(await users.list())).not.toContain('nlogged');

    const later = await open();
    await later.users.finishChanges();
    expect(later.told()).toEqual([]);
    fails.log = false;
    await Promise.all([later.users.finishChanges(), later.users.finishChanges()]);
    await later.users.finishChanges();
    expect(later.told()).toEqual(['MemberAdded Brand:1', 'MemberAdded Community:1', 'MemberRemoved Brand:1']);
    expect(later.log.told.map(({ context }) => context.correlationId)).toEqual(['test', 'test', 'second']);
    expect(await stored()).not.toContain('changeId');
    expect(accountsOf(await later.users.get(id))).toEqual([community]);
  });

  test('completes an interrupted change before appending its event', async () => {
    const { users, told } = await open();
    const { id } = accepted(await users.add(ada, BY_OPERATOR));
    fails.revocation = true;
    await expect(users.removeAccount(id, brand, BY_OPERATOR)).rejects.toThrow('The store does not answer');
    expect(told()).toEqual(['MemberAdded Brand:1', 'MemberAdded Community:1']);

    fails.revocation = false;
    const later = await open();
    await later.users.finishChanges();
    expect(later.endedGrants).toEqual([`${id} Brand:1`]);
    expect(later.told()).toEqual(['MemberRemoved Brand:1']);
  });

  test('applies a change only once during a log outage of any length', async () => {
    const { users, endedGrants, endedSessions } = await open();
    const { id } = accepted(await users.add(ada, BY_OPERATOR));
    fails.log = true;
    accepted(await users.removeAccount(id, brand, BY_OPERATOR));
    accepted(await users.changePassword(id, 'another long one', BY_OPERATOR));
    // From here on, new grants and sessions must not be ended.
    accepted(await users.addAccount(id, brand, 'Manager', BY_OPERATOR));
    const later = await open();
    await later.users.finishChanges();
    await later.users.finishChanges();
    fails.log = false;
    await later.users.finishChanges();
    expect(later.told()).toEqual(['MemberRemoved Brand:1', 'PasswordChanged Community:1', 'MemberAdded Brand:1']);
    expect([...endedGrants, ...later.endedGrants]).toEqual([`${id} Brand:1`]);
    expect([...endedSessions, ...later.endedSessions]).toEqual([id]);
  });

  test('a user whose changes cannot be completed does not block other users', async () => {
    const { users } = await open();
    const ids: string[] = [];
    for (const name of ['ada', 'bea', 'cem'])
      ids.push(accepted(await users.add({ ...ada, email: `${name}@example.com` }, BY_OPERATOR)).id);
    fails.revocation = true;
    for (const id of ids) await expect(users.removeAccount(id, brand, BY_OPERATOR)).rejects.toThrow();
    const [first = '', ...others] = ids.toSorted();
    Object.assign(fails, { revocation: false, of: first });
    const later = await open();
    await expect(later.users.finishChanges()).rejects.toThrow('Changes to 1 of 3 records cannot be finished');
    expect(later.endedGrants.toSorted()).toEqual(others.map((id) => `${id} Brand:1`));
    expect(later.told()).toEqual(['MemberRemoved Brand:1', 'MemberRemoved Brand:1']);
  });

  test('a repeated command finishes the work of an interrupted one', async () => {
    const { users, told } = await open();
    const { id } = accepted(await users.add(ada, BY_OPERATOR));
    fails.revocation = true;
    await expect(users.removeAccount(id, brand, BY_OPERATOR)).rejects.toThrow();
    fails.revocation = false;
    accepted(await users.removeAccount(id, brand, BY_OPERATOR));
    expect(told().filter((change) => change === 'MemberRemoved Brand:1')).toHaveLength(1);
  });

  test('a removed user and the e-mail are gone in every process, even before the event is appended', async () => {
    const { users } = await open();
    const { id } = accepted(await users.add(ada, BY_OPERATOR));
    const bea = accepted(await users.add({ ...ada, email: 'bea@example.com', accounts: [brand] }, BY_OPERATOR));
    fails.log = true;
    // The leftovers of one change do not block another.
    expect(await users.remove(bea.id, BY_OPERATOR)).toBe(true);
    expect(await users.remove(id, BY_OPERATOR)).toBe(true);
    expect(await users.remove(id, BY_OPERATOR)).toBe(false);
    expect([await users.get(id), await users.byEmail(email), await users.verifyPassword(email, password)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await users.list()).toEqual([]);
    expect(await users.addAccount(id, brand, 'Manager', BY_OPERATOR)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await stored()).not.toMatch(/example|argon2/);
    accepted(await users.add({ ...ada, accounts: [brand] }, BY_OPERATOR));

    fails.log = false;
    const later = await open();
    await later.users.finishChanges();
    expect(later.told().sort()).toEqual([
      'MemberAdded Brand:1',
      'MemberRemoved Brand:1',
      'MemberRemoved Brand:1',
      'MemberRemoved Community:1',
    ]);
    expect(await stored()).not.toContain(id);
    expect(accountsOf(await later.users.byEmail(email))).toEqual([brand]);
  });

  test('keeps completing other changes while one cannot be completed', async () => {
    const { users, told } = await open();
    fails.log = true;
    accepted(await users.add({ ...ada, accounts: [brand] }, BY_OPERATOR));
    const broken = { finishChanges: () => Promise.reject(new Error('The store does not answer')) };
    const followUp = createChangeFollowUp({ changing: [broken, users], logger: NO_LOGGER, periodMs: 5 });
    followUp.start();
    fails.log = false;
    await eventually(() => expect(told()).toEqual(['MemberAdded Brand:1']));
    await followUp.stop();
  });
});
