import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

const PASSWORD = 'correct horse battery';
const REQUESTS = 20;

type Brand = Awaited<ReturnType<RunningService['brand']>>;
let service: RunningService;
let url: string;
let greedy: Brand;
let other: Brand;

beforeAll(async () => {
  const running = await runServiceAt('localhost');
  ({ service, url } = running);
  [greedy, other] = [await service.brand(), await service.brand('Rival')];
  await running.listen();
});
beforeEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => service.stop());

/** Makes requests of the first brand wait. */
function hold() {
  const released = Promise.withResolvers<void>();
  let begun = 0;
  return {
    release: released.resolve,
    /** The number of times it had to wait. */
    begun: () => begun,
    async pass({ kind, id }: Account): Promise<void> {
      if (kind !== greedy.account.kind || id !== greedy.account.id) return;
      begun += 1;
      await released.promise;
    },
  };
}

async function signedIn(email: string, { account }: Brand): Promise<Browser> {
  accepted(await service.core.users.add({ email, password: PASSWORD, accounts: [account] }, BY_OPERATOR));
  return Browser.signedIn(url, { email, password: PASSWORD });
}

test('histories of one account are read two at a time for all its keys, and do not delay other accounts', async () => {
  const keys = [greedy.key, await service.key(greedy.account), await service.key(greedy.account)];
  const { bookingHistory } = service.core.queries;
  const { ofBooking } = bookingHistory;
  const held = hold();
  vi.spyOn(bookingHistory, 'ofBooking').mockImplementation(async (viewer, ...rest) => {
    if (viewer !== 'operator') await held.pass(viewer);
    return ofBooking(viewer, ...rest);
  });
  const ask = (key = '') => service.get('/bookings/1/history', { key });
  const asked = Array.from({ length: REQUESTS }, (_, i) => ask(keys[i % keys.length]));
  await eventually(() => expect(held.begun()).toBe(2));
  expect((await ask(other.key)).statusCode).toBe(404);
  expect(held.begun()).toBe(2);

  held.release();
  expect(new Set((await Promise.all(asked)).map(({ statusCode }) => statusCode))).toEqual(new Set([404]));
  expect(held.begun()).toBe(REQUESTS);
});

test('pages of one account are rendered two at a time for all its users, and do not delay other accounts', async () => {
  const users = [await signedIn('ada@example.com', greedy), await signedIn('cyd@example.com', greedy)];
  const bea = await signedIn('bea@example.com', other);
  const { bookings } = service.core.queries;
  const { page } = bookings;
  const held = hold();
  vi.spyOn(bookings, 'page').mockImplementation(async (account, query) => {
    await held.pass(account);
    return page(account, query);
  });
  const loaded = users.flatMap((user) =>
    Array.from({ length: REQUESTS / users.length }, () => user.request('/console/bookings')),
  );
  await eventually(() => expect(held.begun()).toBe(2));
  expect((await bea.request('/console/bookings')).status).toBe(200);
  expect(held.begun()).toBe(2);

  held.release();
  expect(new Set((await Promise.all(loaded)).map(({ status }) => status))).toEqual(new Set([200]));
});
