import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let account: Account;
let other: Account;

beforeAll(async () => {
  service = await runService();
  [account, other] = [(await service.community()).account, (await service.community()).account];
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => service.stop());

let users = 0;
/** Adds a user with feeds. @returns their addresses */
async function feedsOf(owner: Account, count: number): Promise<readonly string[]> {
  users += 1;
  const user = { email: `user-${users}@example.com`, password: 'ten or more', accounts: [owner] };
  const { id: userId } = accepted(await service.core.users.add(user, BY_OPERATOR));
  const addresses: string[] = [];
  for (let added = 0; added < count; added += 1) {
    const wanted = { userId, account: owner, showsNames: true };
    const { secret } = accepted(await service.core.commands.calendarFeeds.add(wanted, CONTEXT));
    addresses.push(`/calendar/${secret}.ics`);
  }
  return addresses;
}

/** Holds the answers with the feeds of an account, as a client does that reads slowly. */
function hold(held: Account) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const feeds = { begun: 0, release };
  const { calendarFeeds } = service.core.queries;
  const { entries } = calendarFeeds;
  vi.spyOn(calendarFeeds, 'entries').mockImplementation(async function* (feed) {
    if (feed.account.id === held.id) {
      feeds.begun += 1;
      await promise;
    }
    yield* entries(feed);
  });
  return feeds;
}

const get = (url = '') => service.app.inject({ url });
const statusesOf = async (answers: readonly ReturnType<typeof get>[]) =>
  (await Promise.all(answers)).map(({ statusCode }) => statusCode);

test('a client that reads a feed slowly holds up no other feed of its account', async () => {
  const [slow, quick] = await feedsOf(account, 2);
  const feeds = hold(account);
  const asked = Array.from({ length: 5 }, () => get(slow));
  await eventually(() => expect(feeds.begun).toBe(2));
  asked.push(get(quick));
  await eventually(() => expect(feeds.begun).toBe(3));
  feeds.release();
  expect(await statusesOf(asked)).toEqual(Array(6).fill(200));
});

test('an account has eight answers with feeds at once, and another account does not wait', async () => {
  const addresses = await feedsOf(account, 5);
  const feeds = hold(account);
  const asked = addresses.flatMap((address) => [get(address), get(address)]);
  await eventually(() => expect(feeds.begun).toBe(8));
  const [theirs] = await feedsOf(other, 1);
  expect((await get(theirs)).statusCode).toBe(200);
  expect(feeds.begun).toBe(8);
  feeds.release();
  expect(await statusesOf(asked)).toEqual(Array(10).fill(200));
});

test('a feed that is revoked while it waits for its turn is not sent', async () => {
  const { calendarFeeds } = service.core.commands;
  const user = { email: 'revoked@example.com', password: 'ten or more', accounts: [account] };
  const { id: userId } = accepted(await service.core.users.add(user, BY_OPERATOR));
  const { secret, feedId } = accepted(await calendarFeeds.add({ userId, account, showsNames: true }, CONTEXT));
  const feeds = hold(account);
  const asked = Array.from({ length: 3 }, () => get(`/calendar/${secret}.ics`));
  await eventually(() => expect(feeds.begun).toBe(2));
  expect(await calendarFeeds.revoke({ feedId }, CONTEXT)).toBeUndefined();
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 2_000);
  feeds.release();
  expect(await statusesOf(asked)).toEqual([200, 200, 404]);
});
