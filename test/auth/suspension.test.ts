import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { API_SCOPE, TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, type RunningService, runServiceAt } from '../running-service.fixture.ts';
import { BY_OPERATOR } from './change-log.ts';

/** A brand that the operator has switched off: every face, every credential. */

const ada = { email: 'ada@example.com', password: 'correct horse battery' };
let service: RunningService;
let url: string;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let community: Awaited<ReturnType<RunningService['community']>>;
let spaceId: number;
let browser: Browser;
/** What each credential of the brand gets. */
let faces: Readonly<Record<string, () => Promise<{ readonly status: number; readonly text: string }>>>;

const statuses = async (): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries(
    await Promise.all(Object.entries(faces).map(async ([name, ask]) => [name, (await ask()).status] as const)),
  );

beforeAll(async () => {
  const running = await runServiceAt('localhost');
  ({ url, service } = running);
  [brand, community] = [await service.brand(), await service.community()];
  spaceId = await service.space(community);
  const accounts = [brand.account, community.account];
  const { id: userId } = accepted(await service.core.users.add({ ...ada, accounts }, BY_OPERATOR));
  await running.listen();
  const app = await TestApp.register(url);
  const asBrand = { ...ada, account: `Brand:${brand.id}` };
  const { access_token: token } = await app.tokens(asBrand);
  const mcp = await app.tokens({ ...asBrand, resource: 'mcp', scope: `${API_SCOPE} service.mcp` });
  const feed = accepted(
    await service.core.commands.calendarFeeds.add({ userId, account: brand.account, showsNames: true }, CONTEXT),
  );
  const client = accepted(
    await service.core.authorizationServer.clients.addClient({ account: brand.account, name: 'Nightly' }, CONTEXT),
  );
  const basic = Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64');
  const granted = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'api', scope: 'service.api.read' }),
  });
  const { access_token: ofClient } = Object(await granted.json());
  browser = new Browser(url);
  await browser.signIn(ada);

  const asked = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}${path}`, init);
    return { status: answer.status, text: await answer.text() };
  };
  const bearer = (of: string) => ({ authorization: `Bearer ${of}` });
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'who_am_i', arguments: {} } };
  const message = {
    method: 'POST',
    headers: {
      ...bearer(mcp.access_token),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(call),
  };
  const body = JSON.stringify({ spaceId, startTime: '2026-11-01', startHour: 10 });
  faces = {
    'an API key that reads': () => asked('/api/v1/bookings', { headers: bearer(brand.key) }),
    'an API key that writes': () =>
      asked('/api/v1/bookings', {
        method: 'POST',
        headers: { ...bearer(brand.key), 'content-type': 'application/json' },
        body,
      }),
    'an app': () => asked('/api/v1/bookings', { headers: bearer(token) }),
    'a service client': () => asked('/api/v1/bookings', { headers: bearer(ofClient) }),
    'an assistant': () => asked('/mcp', message),
    'a calendar feed': () => asked(`/calendar/${feed.secret}.ics`),
    'a page': () => browser.request('/console/bookings'),
    'a form': () =>
      browser.request('/console/feeds', { method: 'POST', body: new URLSearchParams({ csrf: 'of another page' }) }),
    'a file': () => browser.request('/console/bookings.csv'),
  };
}, 120_000);
afterAll(() => service.stop());

test('everything that a suspended brand does or reads is refused in each process, and nothing of it is lost', async () => {
  const { core } = service;
  const booked = await service.post('/bookings', {
    key: brand.key,
    body: { spaceId, startTime: '2026-12-10', startHour: 10 },
  });
  expect(booked.statusCode).toBe(201);
  const before = await statuses();
  expect(before).toEqual({
    ...Object.fromEntries(Object.keys(faces).map((name) => [name, 200])),
    'an API key that writes': 422,
    'a form': 403,
  });

  useDataDir(service.config.dataDir, { DEMO: 'false' });
  const suspended = await json('brand', 'suspend', String(brand.id), '--reason', 'Requests that it never keeps');
  expect(suspended).toMatchObject({ id: brand.id, name: 'Acme', suspendedAt: expect.any(String) });
  expect(await json('brand', 'list')).toEqual([suspended]);
  expect(await json('brand', 'suspend', String(brand.id))).toEqual(suspended);

  await eventually(async () =>
    expect(await statuses()).toEqual(Object.fromEntries(Object.keys(faces).map((name) => [name, 403]))),
  );
  for (const [name, ask] of Object.entries(faces)) expect((await ask()).text, name).toContain('suspended');
  const refused = await service.get('/bookings', { key: brand.key });
  expect(refused.json()).toEqual({
    error: 'InsufficientPermissions',
    details: expect.stringMatching(/^The operator of this service has suspended this brand/),
  });
  expect(refused.headers['www-authenticate']).toBeUndefined();
  expect((await browser.request('/console/live')).status).toBe(204);

  // Its user still acts for other accounts, and the community still decides on its request.
  const page = await browser.open('/console');
  const there = await browser.send(page, '/console/account', { account: `Community:${community.id}` });
  expect([there.status, there.url.pathname]).toEqual([200, '/console/overview']);
  const account = { communityId: communityId(community.id), bookingId: booked.json().id };
  accepted(await core.commands.bookings.approve(account, CONTEXT));
  await browser.send(there, '/console/account', { account: `Brand:${brand.id}` });
  expect((await browser.request('/console/bookings')).status).toBe(403);

  expect(await json('brand', 'reinstate', String(brand.id))).toEqual({ id: brand.id, name: 'Acme' });
  await eventually(async () => expect(await statuses()).toEqual(before));
  expect((await service.get(`/bookings/${booked.json().id}`, { key: brand.key })).json().status).toBe('Approved');
  const history = await browser.open('/console/history');
  expect(history.text).toContain('was suspended');
  expect(history.text).toContain('Requests that it never keeps');
  expect(history.text).toContain('works again');
  const audited: { event: string; changes: object }[] = await json('audit', '--brand', String(brand.id));
  expect(audited.filter(({ event }) => event.startsWith('BrandS') || event.startsWith('BrandR'))).toMatchObject([
    { event: 'BrandSuspended', changes: { reason: { to: 'Requests that it never keeps' } } },
    { event: 'BrandReinstated' },
  ]);
});

test('suspending with --cancel-requests frees the hours of unanswered requests; approved bookings stay', async () => {
  useDataDir(service.config.dataDir, { DEMO: 'false' });
  const holder = await service.brand('Holder');
  const ask = async (startTime: string) =>
    (await service.post('/bookings', { key: holder.key, body: { spaceId, startTime, startHour: 10 } })).json().id;
  const [approved, first, second] = [await ask('2026-12-20'), await ask('2026-12-21'), await ask('2026-12-22')];
  const { bookings } = service.core.commands;
  accepted(await bookings.approve({ communityId: communityId(community.id), bookingId: approved }, CONTEXT));
  const statusesOf = () =>
    Promise.all([approved, first, second].map(async (id) => (await service.core.queries.operator.booking(id))?.status));

  // Without it, all stay.
  await json('brand', 'suspend', String(holder.id));
  expect(await statusesOf()).toEqual(['Approved', 'Pending', 'Pending']);
  const suspended = await json('brand', 'suspend', String(holder.id), '--cancel-requests');
  expect(suspended).toMatchObject({ id: holder.id, suspendedAt: expect.any(String), cancelledRequests: 2 });
  await eventually(async () => expect(await statusesOf()).toEqual(['Approved', 'Cancelled', 'Cancelled']));
  expect(await service.core.queries.operator.booking(first)).toMatchObject({
    cancelledBy: 'Brand',
    reason: 'The operator of this service has suspended the brand.',
  });
  const free = await service.get(`/spaces/${spaceId}/availability?date=2026-12-21`, { key: community.key });
  expect(free.json().timeSlots.find(({ hour }: { hour: number }) => hour === 10).isAvailable).toBe(true);
  expect(await json('brand', 'suspend', String(holder.id), '--cancel-requests')).toMatchObject({
    cancelledRequests: 0,
  });
});

test('only brands that exist are suspended, with a reason of readable length', async () => {
  useDataDir(service.config.dataDir, { DEMO: 'false' });
  for (const [args, code, text] of [
    [['suspend', '99'], 1, 'There is no brand 99.'],
    [['reinstate', '99'], 1, 'There is no brand 99.'],
    [['suspend', 'Acme'], 2, 'whole number'],
    [['suspend', String(brand.id), '--reason', 'x'.repeat(10_000)], 1, 'reason'],
  ] as const)
    expect(await inProcess('brand', ...args)).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(text),
    });
  expect(await service.core.credentials.isSuspended({ kind: 'Brand', id: brandId(brand.id) })).toBe(false);
});

test('a request of a brand that is suspended while it waits for its body is refused', async () => {
  const { catalogue } = service.core.commands;
  const [late] = [await service.brand('Late')];
  const answer = fetch(`${url}/api/v1/bookings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${late.key}`, 'content-type': 'application/json' },
    duplex: 'half',
    body: new ReadableStream({
      async start(body) {
        body.enqueue(new TextEncoder().encode(`{"spaceId":${spaceId},"startTime":"2026-12-11",`));
        await new Promise((resolve) => setTimeout(resolve, 300));
        accepted(await catalogue.suspendBrand({ brandId: late.id }, CONTEXT));
        await new Promise((resolve) => setTimeout(resolve, 1_200));
        body.enqueue(new TextEncoder().encode('"startHour":10}'));
        body.close();
      },
    }),
  } as RequestInit);
  expect((await answer).status).toBe(403);
  expect((await service.get('/bookings', { key: community.key })).json()).not.toContainEqual(
    expect.objectContaining({ date: '2026-12-11' }),
  );
});
