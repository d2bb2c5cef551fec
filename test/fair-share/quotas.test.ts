import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { inProcessWith, jsonWith } from '../cli/in-process.ts';
import { CONTEXT, type RunningService, runServiceAt, TERMS } from '../running-service.fixture.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

/** What one account may write, with the default settings. */

const PASSWORD = 'correct horse battery';
const PER_MINUTE = 120;

let service: RunningService;
let url: string;
let receiver: Receiver;
let community: { readonly id: number; readonly account: Account };
let greedy: Browser;
let other: Browser;

beforeEach(async () => {
  const running = await runServiceAt('localhost');
  ({ service, url } = running);
  receiver = await startReceiver((_, response) => response.end());
  community = await service.community();
  const rival = await service.community('Europe/Berlin', 'Rival');
  await running.listen();
  greedy = await signedIn('ada@example.com', community.account);
  other = await signedIn('bea@example.com', rival.account);
});
afterEach(async () => {
  await receiver.close();
  await service.stop();
});

async function signedIn(email: string, account: Account): Promise<Browser> {
  accepted(await service.core.users.add({ email, password: PASSWORD, accounts: [account] }, BY_OPERATOR));
  return Browser.signedIn(url, { email, password: PASSWORD });
}

const CHOICES = { permission: 'ReadBookings', label: 'Key' };
/** Submits a form of a page again and again, without the token that makes it take effect once. */
async function submit(
  times: number,
  page: string,
  action: string | RegExp,
  fields = {},
  browser = greedy,
): Promise<Page[]> {
  const { target, body } = (await browser.open(page)).form(action, fields);
  body.delete('once');
  const pages = [];
  for (let i = 0; i < times; i += 1) pages.push(await browser.request(target, { method: 'POST', body }));
  return pages;
}
const statusesOf = (pages: readonly Page[]): Record<number, number> =>
  Object.fromEntries([...Map.groupBy(pages, ({ status }) => status)].map(([status, { length }]) => [status, length]));
const eventsOf = async (...types: readonly string[]) =>
  (await Array.fromAsync(service.core.events.readAll({ types }))).length;
/** A minute later. */
const wait = () => {
  service.time.now += 60_000;
};

test('an account keeps at most 100 live API keys, however many its users try to create', async () => {
  const created = await submit(PER_MINUTE + 20, '/console/keys', '/console/keys', CHOICES);
  // The account had one.
  expect(statusesOf(created)).toEqual({ 200: 99, 422: PER_MINUTE - 99, 429: 20 });
  expect(created[PER_MINUTE - 1]?.text).toContain('An account can have at most 100 API keys; revoke one first.');
  expect(await eventsOf('ApiKeyIssued')).toBe(2 + 99);
  expect(statusesOf(await submit(1, '/console/keys', '/console/keys', CHOICES, other))).toEqual({ 200: 1 });

  wait();
  expect(statusesOf(await submit(1, '/console/keys', /\/revoke$/))).toEqual({ 303: 1 });
  expect(statusesOf(await submit(3, '/console/keys', '/console/keys', CHOICES))).toEqual({ 200: 1, 422: 2 });
});

test('a community keeps at most 200 spaces, and refused ones use no ids', async () => {
  const space = {
    name: 'Hall',
    windowStart: '9',
    windowEnd: '21',
    durationHours: '4',
    eventFee: '10',
    answerHours: '72',
  };
  const add = (times: number) => submit(times, '/console/spaces/new', '/console/spaces/new', space);
  expect(statusesOf(await add(PER_MINUTE + 10))).toEqual({ 303: PER_MINUTE, 429: 10 });
  wait();
  const added = await add(PER_MINUTE);
  expect(statusesOf(added)).toEqual({ 303: 80, 422: 40 });
  expect(added.at(-1)?.text).toContain('A community can have at most 200 spaces');
  expect(await eventsOf('SpaceAdded')).toBe(200);
  expect(await service.space({ id: 2 })).toBe(201);
});

test('an account keeps at most 50 service clients', async () => {
  const add = () => submit(30, '/console/clients', '/console/clients', { name: 'Import' });
  const added = [...(await add()), ...(await add())];
  expect(statusesOf(added)).toEqual({ 200: 50, 422: 10 });
  expect(added.at(-1)?.text).toContain('An account can have at most 50 service clients; remove one first.');
  expect(statusesOf(await submit(1, '/console/clients', /\/remove$/))).toEqual({ 303: 1 });
  expect(statusesOf(await submit(2, '/console/clients', '/console/clients', { name: 'Import' }))).toEqual({
    200: 1,
    422: 1,
  });
});

test('the users of an account together submit at most 120 forms a minute', async () => {
  const owner = { account: community.account, credential: 'user:1' } as const;
  const registration = { owner, url: `http://127.0.0.1:${receiver.port}/`, events: 15 };
  const { webhookId } = accepted(await service.core.commands.webhooks.register(registration, CONTEXT));
  const path = `/console/webhooks/${webhookId}`;
  const colleague = await signedIn('cyd@example.com', community.account);
  const disabled = await submit(70, path, '/disable');
  // The same from another user of the account, who alternates.
  const { target, body } = (await colleague.open(path)).form('/enable');
  const alternated: Page[] = [];
  for (const step of Array.from({ length: 70 }, (_, i) => (i % 2 === 0 ? 'enable' : 'disable')))
    alternated.push(await colleague.request(`${target}`.replace('enable', step), { method: 'POST', body }));
  expect(statusesOf(disabled)).toEqual({ 303: 70 });
  expect(statusesOf(alternated)).toEqual({ 303: 50, 429: 20 });
  expect(await eventsOf('WebhookEnabled', 'WebhookDisabled')).toBe(51);

  const refused = alternated.at(-1);
  expect(refused?.headers.get('retry-after')).toBe('60');
  expect(refused?.text).toContain('This account has made too many changes within a minute. Try again in 60 s.');
  expect(statusesOf(await submit(1, '/console/keys', '/console/keys', CHOICES, other))).toEqual({ 200: 1 });
  // Pages can still be read.
  expect((await greedy.open(path)).status).toBe(200);
});

test('a webhook is sent one test delivery a second from the console', async () => {
  const owner = { account: community.account, credential: 'user:1' } as const;
  const register = async (name: string) => {
    const registration = { owner, url: `http://127.0.0.1:${receiver.port}/${name}`, events: 15 };
    return accepted(await service.core.commands.webhooks.register(registration, CONTEXT)).webhookId;
  };
  const [first, second] = [await register('first'), await register('second')];
  const sent = async (id: string) =>
    (await service.core.webhooks.listDeliveries({ webhookId: id })).filter(({ event }) => event === 'Test').length;
  const [, refused] = await submit(20, `/console/webhooks/${first}`, '/test');
  expect((await greedy.open(refused?.location ?? '')).text).toContain('Send the next one in 1 s.');
  expect([await sent(first), await sent(second)]).toEqual([1, 0]);
  await submit(1, `/console/webhooks/${second}`, '/test');
  service.time.now += 1_000;
  await submit(5, `/console/webhooks/${first}`, '/test');
  expect([await sent(first), await sent(second)]).toEqual([2, 1]);
});

test('what an account has is counted together for concurrent commands and for the command line', async () => {
  const { apiKeys, catalogue } = service.core.commands;
  const key = { account: community.account, permissions: ALL_PERMISSIONS, label: 'Key' };
  const keys = await Promise.all(Array.from({ length: 110 }, () => apiKeys.issue(key, CONTEXT)));
  expect(keys.filter((outcome) => !isRefusal(outcome))).toHaveLength(99);
  const space = { ...TERMS, communityId: community.id };
  const spaces = await Promise.all(Array.from({ length: 210 }, () => catalogue.addSpace(space, CONTEXT)));
  expect(spaces.filter((outcome) => !isRefusal(outcome))).toHaveLength(200);
  const settings = { DATA_DIR: service.config.dataDir, DEMO: 'false' };
  const refused = await inProcessWith(settings, 'api-key', 'issue', '--community', '1');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('at most 100 API keys') });
  const more = { ...settings, API_KEYS_PER_ACCOUNT: '101' };
  expect(await jsonWith(more, 'api-key', 'issue', '--community', '1')).toHaveProperty('key');
});
