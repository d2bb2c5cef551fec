import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { connect } from '../mcp/connected-client.ts';
import { CONTEXT, type RunningService, runServiceAt } from '../running-service.fixture.ts';

const PASSWORD = 'correct horse battery';

let service: RunningService;
let url: string;
let spaceId: number;
let account: Awaited<ReturnType<RunningService['brand']>>['account'];

beforeAll(async () => {
  const running = await runServiceAt('localhost');
  ({ service, url } = running);
  spaceId = await service.space(await service.community());
  ({ account } = await service.brand());
  await running.listen();
  await member('manager@example.com');
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => service.stop());

const member = async (email: string) =>
  accepted(await service.core.users.add({ email, password: PASSWORD, accounts: [account] }, BY_OPERATOR));

const demote = async ({ id }: { readonly id: string }) =>
  accepted(await service.core.users.setRole(id, account, 'Viewer', BY_OPERATOR));

/** Makes calls wait in a method that a test replaces. Other requests of the account then wait for their turns. */
function hold() {
  const released = Promise.withResolvers<void>();
  const begun: true[] = [];
  const held = async () => {
    begun.push(true);
    await released.promise;
  };
  return { begun, held, release: released.resolve };
}

/** Lets a second pass for requests that wait. */
function passSecond(): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 1_000);
}

const isBooked = async (startTime: string) => {
  const key = await service.key(account);
  return (await service.get('/bookings', { key })).body.includes(startTime);
};

test('a form that waits for its turn does nothing once its user is demoted', async () => {
  const user = await member('form@example.com');
  const [sender, reader] = [new Browser(url), new Browser(url)];
  for (const browser of [sender, reader]) await browser.signIn({ email: user.email, password: PASSWORD });
  const people = await sender.open('/console/people');
  const { bookings } = service.core.queries;
  const { page } = bookings;
  const { begun, held, release } = hold();
  vi.spyOn(bookings, 'page').mockImplementation((...args) => held().then(() => page(...args)));
  const loaded = [1, 2].map(() => reader.request('/console/bookings'));
  await eventually(() => expect(begun).toHaveLength(2));
  const checked = vi.spyOn(service.core.users, 'get');
  const { target, body } = people.form('/invitations', { email: 'second@example.com', role: 'Manager' });
  const invited = sender.request(target, { method: 'POST', body });
  await eventually(() => expect(checked).toHaveBeenCalledWith(user.id));
  await demote(user);
  passSecond();
  release();
  expect((await invited).status).toBe(403);
  await Promise.all(loaded);
});

test('a call of the API that waits for its turn does nothing once its key is revoked', async () => {
  const [key, lost] = [await service.key(account), await service.key(account)];
  const { webhooks, apiKeys } = service.core.commands;
  const { register } = webhooks;
  const { begun, held, release } = hold();
  vi.spyOn(webhooks, 'register').mockImplementation((...args) => held().then(() => register(...args)));
  const body = { url: 'https://receiver.example/', events: 1 };
  const first = Array.from({ length: 32 }, () => service.post('/webhooks', { key, body }));
  await eventually(() => expect(begun).toHaveLength(32));
  const checked = vi.spyOn(service.core.credentials, 'issuedKey');
  const booked = service.post('/bookings', { key: lost, body: { spaceId, startTime: '2027-01-10', startHour: 9 } });
  await eventually(() => expect(checked).toHaveBeenCalled());
  const { apiKeyId: id = '' } = (await checked.mock.results[0]?.value) ?? {};
  await apiKeys.revoke({ apiKeyId: id }, CONTEXT);
  passSecond();
  release();
  expect((await booked).statusCode).toBe(401);
  await Promise.all(first);
  expect(await isBooked('2027-01-10')).toBe(false);
});

test('a call of an assistant that waits for its turn does nothing once its user is demoted', async () => {
  const user = await member('assistant@example.com');
  const signIn = { email: user.email, password: PASSWORD, account: `${account.kind}:${account.id}` };
  const { client } = await connect(url, signIn);
  const { queries } = service.core;
  const { openDays } = queries;
  const { begun, held, release } = hold();
  vi.spyOn(queries, 'openDays').mockImplementation((...args) => held().then(() => openDays(...args)));
  const asked = Array.from({ length: 4 }, () =>
    client.callTool({ name: 'find_open_days', arguments: { startDate: '2027-01-02', endDate: '2027-01-05' } }),
  );
  await eventually(() => expect(begun).toHaveLength(4));
  const checked = vi.spyOn(service.core.authorizationServer.accessTokens, 'verify');
  const booked = client.callTool({
    name: 'request_booking',
    arguments: { spaceId, date: '2027-01-11', startHour: 9, idempotencyKey: 'lost' },
  });
  const outcome = booked.then(
    ({ content }) => JSON.stringify(content),
    () => 'refused',
  );
  await eventually(() => expect(checked).toHaveBeenCalled());
  await demote(user);
  passSecond();
  release();
  await Promise.allSettled(asked);
  expect(await outcome).toBe('refused');
  expect(await isBooked('2027-01-11')).toBe(false);
});
