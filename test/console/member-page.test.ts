import { afterAll, beforeAll, expect, test } from 'vitest';
import { roleIn } from '../../src/auth/memberships.ts';
import type { Account } from '../../src/domain/account.ts';
import type { Role } from '../../src/domain/roles.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

const password = 'correct horse battery';
let service: RunningService;
let url: string;
let account: Account;
let numbers = 0;

beforeAll(async () => {
  const running = await runServiceAt();
  ({ service, url } = running);
  await running.listen();
});
afterAll(() => service.stop());

async function member(role: Role, accounts = [account]) {
  numbers += 1;
  const email = `m${numbers}@example.com`;
  const { id } = accepted(await service.core.users.add({ email, password, accounts, role }, BY_OPERATOR));
  const path = `/console/people/${id}`;
  return { id, email, path, role: async () => roleOf(id) };
}
async function signedIn({ email }: { readonly email: string }): Promise<Browser> {
  return Browser.signedIn(url, { email, password });
}
async function roleOf(id: string): Promise<Role | undefined> {
  const user = await service.core.users.get(id);
  return user && roleIn(user, account);
}

test('a Manager gives a member another role, which the history of the account names', async () => {
  ({ account } = await service.brand());
  const [ada, bob] = [await member('Manager'), await member('Viewer')];
  const browser = await signedIn(ada);
  const list = await browser.open('/console/people');
  expect(list.text).toContain(`href="${bob.path}"`);
  const page = await browser.open(bob.path);
  const saved = await browser.send(page, `${bob.path}/role`, { role: 'Coordinator' });
  expect(saved.url.pathname).toBe('/console/people');
  expect(saved.flash).toContain(`${bob.email}</bdi> is a Coordinator now`);
  expect(await bob.role()).toBe('Coordinator');
  expect((await browser.open('/console/history?topic=members')).text).toContain('is a Coordinator now');

  const unchanged = await browser.send(await browser.open(bob.path), `${bob.path}/role`, { role: 'Coordinator' });
  expect(unchanged.flash).toContain('Nothing has changed');
  // The page was shown before the role changed.
  const stale = await browser.send(page, `${bob.path}/role`, { role: 'Manager' });
  expect(stale.flash).toContain('is a Coordinator by now');
  expect((await browser.send(page, `${bob.path}/role`, { role: 'Owner' })).status).toBe(422);
  expect(await bob.role()).toBe('Coordinator');
});

test('a Manager steps back unless no other one would be left, and then may no longer open the page', async () => {
  ({ account } = await service.brand());
  const [ada, bob] = [await member('Manager'), await member('Viewer')];
  const browser = await signedIn(ada);
  const refused = await browser.send(await browser.open(ada.path), `${ada.path}/role`, { role: 'Viewer' });
  expect(refused.flash).toContain('This is the last Manager of the account.');
  const leaving = await browser.send(await browser.open(ada.path), `${ada.path}/remove`);
  expect(leaving.flash).toContain('This is the last Manager of the account.');
  await browser.send(await browser.open(bob.path), `${bob.path}/role`, { role: 'Manager' });
  const left = await browser.send(await browser.open(ada.path), `${ada.path}/role`, { role: 'Viewer' });
  expect(left.flash).toContain('You are a Viewer now');
  expect((await browser.open(bob.path)).status).toBe(403);
});

test('a removed member has no access any more, and a sign-in only if there is another account', async () => {
  const other = await service.community();
  ({ account } = await service.brand());
  const [ada, bob, cem] = [
    await member('Manager'),
    await member('Coordinator'),
    await member('Viewer', [account, other.account]),
  ];
  const browser = await signedIn(ada);
  const theirs = await signedIn(bob);
  for (const each of [bob, cem]) {
    const removed = await browser.send(await browser.open(each.path), `${each.path}/remove`);
    expect(removed.flash).toContain(`${each.email}</bdi> has no access any more.`);
    expect((await browser.open(each.path)).status).toBe(404);
  }
  expect((await theirs.open('/console/bookings')).url.pathname).toContain('/connect/');
  expect(await service.core.users.get(bob.id)).toBeUndefined();
  expect((await service.core.users.get(cem.id))?.memberships).toEqual([{ account: other.account, role: 'Viewer' }]);
});

test('an API key belongs to the account and outlives the person who made it', async () => {
  ({ account } = await service.brand());
  const [ada, bob] = [await member('Manager'), await member('Manager')];
  const theirs = await signedIn(bob);
  const made = await theirs.send(await theirs.open('/console/keys'), '/console/keys', {
    label: 'Desk',
    permission: ['ReadBookings'],
  });
  const key = /vbs_live_\w+/.exec(made.text)?.[0] ?? expect.fail(made.text);
  const status = async () => (await service.get('/bookings', { key })).statusCode;
  expect(await status()).toBe(200);
  const browser = await signedIn(ada);
  await browser.send(await browser.open(bob.path), `${bob.path}/role`, { role: 'Viewer' });
  expect(await status()).toBe(200);
  await browser.send(await browser.open(bob.path), `${bob.path}/remove`);
  expect(await service.core.users.get(bob.id)).toBeUndefined();
  expect(await status()).toBe(200);
});

test('the page of a member of another account is not found', async () => {
  ({ account } = await service.brand());
  const stranger = await member('Viewer');
  ({ account } = await service.brand());
  const browser = await signedIn(await member('Manager'));
  expect((await browser.open(stranger.path)).status).toBe(404);
  const { csrf } = await browser.open('/console');
  for (const step of ['role', 'remove']) {
    const body = new URLSearchParams({ csrf, role: 'Manager', was: 'Viewer' });
    expect((await browser.request(`${stranger.path}/${step}`, { method: 'POST', body })).status).toBe(404);
  }
  expect((await service.core.users.get(stranger.id))?.memberships).toHaveLength(1);
});
