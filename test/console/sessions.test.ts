import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { User, Users } from '../../src/auth/users.ts';
import { SESSIONS } from '../../src/console/sessions/session-records.ts';
import { createSessions, type Sessions } from '../../src/console/sessions/sessions.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { Account } from '../../src/domain/account.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR, openUsers } from '../auth/change-log.ts';

const brand: Account = { kind: 'Brand', id: brandId(1) };
// The same id as the brand's.
const community: Account = { kind: 'Community', id: communityId(1) };

let folder: string;
let documents: OperatedDocumentStore;
let users: Users;
let sessions: Sessions;
let user: User;
let now = Date.parse('2026-12-01T12:00:00Z');
const clock = () => now;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-sessions-'));
  documents = await openSqliteDocumentStore({ folder, clock });
  ({ users } = await openUsers(documents, clock));
  sessions = await createSessions({ documents, users, clock, secretKey: Buffer.alloc(32, 1) });
  const accounts = [brand, community];
  user = accepted(
    await users.add({ email: 'ada@example.com', password: 'correct horse battery', accounts }, BY_OPERATOR),
  );
});
afterEach(async () => {
  await documents.close();
  await rm(folder, { recursive: true });
});

/** The sessions as they are stored, the header of a browser included, if it were. */
const storedSessions = async () => Array.fromAsync((await documents.open(SESSIONS)).find(everyDocument()));

async function started() {
  const id = await sessions.start(user.id, brand, undefined);
  const current = await sessions.current(id);
  if (current === undefined) throw new Error('The session has not started');
  const isActive = async () => [(await sessions.current(id)) !== undefined, await sessions.isActive(current)];
  return { current, isActive };
}

test.each([
  ['the password was changed', () => users.changePassword(user.id, 'another good password', BY_OPERATOR)],
  ['the user left the account', () => users.removeAccount(user.id, brand, BY_OPERATOR)],
  ['the user was removed', () => users.remove(user.id, BY_OPERATOR)],
])('once %s the session ends, on open pages too', async (_, happens) => {
  const { current, isActive } = await started();
  expect(await isActive()).toEqual([true, true]);
  now += 1_000;
  await happens();
  // An open page checks first: no request has deleted the session yet.
  expect(await sessions.isActive(current)).toBe(false);
  expect(await isActive()).toEqual([false, false]);
});

test('with another role the session goes on, and open pages connect again', async () => {
  const { current, isActive } = await started();
  const other = { email: 'other@example.com', password: 'correct horse battery', accounts: [brand] };
  accepted(await users.add(other, BY_OPERATOR));
  accepted(await users.setRole(user.id, brand, 'Viewer', BY_OPERATOR));
  expect(await isActive()).toEqual([true, false]);
  expect(await sessions.isActive({ ...current, role: 'Viewer' })).toBe(true);
});

const HOUR_MS = 3_600_000;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0';

test('a session says in which browser it is and when it was last used, without the header', async () => {
  const id = await sessions.start(user.id, brand, FIREFOX);
  const startedAt = new Date(now).toISOString();
  expect(await sessions.listOf(user)).toMatchObject([{ browser: 'Firefox on Linux', lastUsedAt: startedAt }]);
  now += 3 * HOUR_MS;
  await sessions.current(id);
  expect(await sessions.listOf(user)).toMatchObject([{ startedAt, lastUsedAt: new Date(now).toISOString() }]);
  expect(JSON.stringify(await storedSessions())).not.toContain('Mozilla');
});

test('reading pages costs at most one write an hour, also of many at once', async () => {
  const id = await sessions.start(user.id, brand, FIREFOX);
  const versionOf = async () => (await storedSessions())[0]?.version;
  now += HOUR_MS - 1;
  for (let page = 0; page < 5; page += 1) await sessions.current(id);
  expect(await versionOf()).toBe(1);
  now += 1;
  await Promise.all(Array.from({ length: 20 }, () => sessions.current(id)));
  expect(await versionOf()).toBe(2);
});

test('a session ends after 12 hours without use, and after a week of use', async () => {
  const id = await sessions.start(user.id, brand, FIREFOX);
  for (let hour = 0; hour < 167; hour += 1) {
    now += HOUR_MS;
    expect(await sessions.current(id)).toBeDefined();
  }
  now += HOUR_MS;
  expect(await sessions.current(id)).toBeUndefined();
  const unused = await sessions.start(user.id, brand, FIREFOX);
  now += 12 * HOUR_MS;
  expect(await sessions.current(unused)).toBeUndefined();
});

test('a page is shown although the use of its session cannot be stored', async () => {
  const id = await sessions.start(user.id, brand, FIREFOX);
  let isFull = false;
  const full: OperatedDocumentStore = Object.assign(Object.create(documents), {
    async open(collection: typeof SESSIONS) {
      const records = await documents.open(collection);
      const update: typeof records.update = async (...change) => {
        if (isFull) throw new Unavailable('The disk is full');
        return records.update(...change);
      };
      return Object.assign(Object.create(records), { update });
    },
  });
  const there = await createSessions({ documents: full, users, clock, secretKey: Buffer.alloc(32, 1) });
  isFull = true;
  now += HOUR_MS;
  expect(await there.current(id)).toBeDefined();
});

test('a form made for one account does nothing for an account of the other kind with the same id', async () => {
  const { current } = await started();
  const token = sessions.csrfToken(current);
  expect(sessions.isCsrfToken(current, token)).toBe(true);
  expect(sessions.isCsrfToken({ ...current, session: { ...current.session, account: community } }, token)).toBe(false);
});

test('a form made in another session, or elsewhere, does nothing', async () => {
  const { current } = await started();
  const { current: other } = await started();
  const token = sessions.csrfToken(current);
  expect(sessions.isCsrfToken(other, token)).toBe(false);
  const otherKey = await createSessions({ documents, users, clock, secretKey: Buffer.alloc(32, 2) });
  expect(otherKey.isCsrfToken(current, token)).toBe(false);
  for (const made of ['', '-', '--', '---', token.slice(1), `${token}-`, `x${token}`, '\u{1f980}', 'a'.repeat(60_000)])
    expect(sessions.isCsrfToken(current, made)).toBe(false);
});

test('the CSRF token differs on every page, so that compression reveals nothing about it', async () => {
  const { current } = await started();
  const tokens = Array.from({ length: 100 }, () => sessions.csrfToken(current));
  // The common prefix is derived from the account; it is not a valid token on its own.
  const rests = tokens.map((token) => token.slice(token.indexOf('-') + 1));
  expect(new Set(rests).size).toBe(100);
  expect(new Set(rests.map((rest) => rest.slice(rest.indexOf('-') + 1))).size).toBe(100);
  expect(tokens.every((token) => sessions.isCsrfToken(current, token))).toBe(true);
});
