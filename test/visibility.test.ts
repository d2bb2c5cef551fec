import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Account } from '../src/domain/account.ts';
import { ALL_PERMISSIONS } from '../src/domain/permissions.ts';
import { accepted } from './accepted.ts';
import { BY_OPERATOR } from './auth/change-log.ts';
import { TestApp } from './authorization-server/test-app.ts';
import { Browser, type Page } from './browser.ts';
import { eventually } from './eventually.ts';
import { connect } from './mcp/connected-client.ts';
import { CONTEXT, NOON, type RunningService, runServiceAt } from './running-service.fixture.ts';
import { type Receiver, startReceiver } from './webhooks/receiver.ts';

/**
 * Both parties of a booking read everything that they can see of it, through every interface: neither finds out which user of
 * the other party acted, nor with which credential (docs/decisions/accounts.md).
 */

const password = 'correct horse battery';

let service: RunningService;
let url: string;
let receiver: Receiver;

type Party = {
  readonly account: Account;
  readonly email: string;
  readonly key: string;
  readonly browser: Browser;
  /** Values that would reveal the actor to the other account. */
  readonly traces: readonly string[];
};
let brand: Party;
let community: Party;

/** An account with a user, a key, an app and a client, all of which act for it. */
async function party(
  account: Account,
  name: string,
): Promise<Party & { readonly app: TestApp; readonly token: string }> {
  const { core } = service;
  const email = `${name}@people-of-${name}.example`;
  const user = accepted(await core.users.add({ email, password, accounts: [account] }, BY_OPERATOR));
  const issued = accepted(
    await core.commands.apiKeys.issue({ account, permissions: ALL_PERMISSIONS, label: `Desk of ${name}` }, CONTEXT),
  );
  const app = await TestApp.register(url, { client_name: `App of ${name}` });
  const { access_token: token } = await app.tokens({ email, password, account: `${account.kind}:${account.id}` });
  const browser = new Browser(url);
  await browser.signIn({ email, password });
  const hook = `http://127.0.0.1:${receiver.port}/${name}`;
  expect((await service.post('/webhooks', { key: issued.key, body: { url: hook, events: 15 } })).statusCode).toBe(201);
  const [grant] = await core.authorizationServer.connectedApps.grantsOf({ account });
  const traces = [
    ...[email, user.id, issued.apiKeyId, `Desk of ${name}`, issued.key.slice(0, 14), app.id, `App of ${name}`],
    ...(grant === undefined ? [] : [grant.grantId]),
  ];
  return { account, email, key: issued.key, browser, app, token, traces };
}

beforeAll(async () => {
  receiver = await startReceiver();
  const running = await runServiceAt();
  ({ service, url } = running);
  const { core, time } = service;
  await running.listen();
  await core.webhooks.start();
  const [harbour, acme] = [await service.community(), await service.brand()];
  const spaceId = await service.space(harbour);
  const [asBrand, asCommunity] = [await party(acme.account, 'buyer'), await party(harbour.account, 'host')];
  [brand, community] = [asBrand, asCommunity];
  const client = accepted(
    await core.authorizationServer.clients.addClient({ account: acme.account, name: 'Nightly of buyer' }, BY_OPERATOR),
  );
  brand = { ...brand, traces: [...brand.traces, client.clientId, 'Nightly of buyer'] };

  const request = async (key: string, startTime: string) => {
    const answer = await service.post('/bookings', { key, body: { spaceId, startTime, startHour: 10 } });
    expect(answer.statusCode).toBe(201);
    return Number(answer.json().id);
  };
  const byKey = await request(asBrand.key, '2026-12-10');
  const byApp = await request(asBrand.token, '2026-12-11');
  const tokens = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'api', scope: 'service.api.write' }),
  });
  const byClient = await request(((await tokens.json()) as { access_token: string }).access_token, '2026-12-12');
  const form = await brand.browser.open(`/console/find/${spaceId}?date=2026-12-13`);
  await brand.browser.send(form, `/console/find/${spaceId}`, { startHour: '10', message: 'For forty people.' });

  const approve = async (id: number) =>
    community.browser.send(await community.browser.open(`/console/bookings/${id}`), `/console/bookings/${id}/approve`);
  for (const id of [byKey, byApp, byClient]) await approve(id);
  const leave = async (by: Party, id: number, step: string) => {
    const page = await by.browser.open(`/console/bookings/${id}/${step}`);
    await by.browser.send(page, `/console/bookings/${id}/${step}`, { reason: 'We are sorry.' });
  };
  await leave(brand, byApp, 'cancel');
  await leave(community, byClient, 'cancel');
  // One booking takes place, and is reviewed.
  time.now = Date.parse('2026-12-10T22:00:00Z');
  accepted(await core.commands.bookings.complete(byKey, CONTEXT));
  const review = await brand.browser.open(`/console/bookings/${byKey}`);
  await brand.browser.send(review, /review/, { rating: '5', title: 'Bright', content: 'And quiet.' });
  await eventually(() => {
    for (const to of ['/buyer', '/host']) expect(deliveredTo(to)).toContain('ReviewPosted');
  });
});
afterAll(async () => {
  await service.core.webhooks.stop();
  await service.stop();
  await receiver.close();
});

/** All deliveries to a webhook. */
const deliveredTo = (to: string): string => JSON.stringify(receiver.received.filter(({ path }) => path === to));

/** Every linked page of the console. */
async function consoleOf({ browser }: Party): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const open = ['/console'];
  for (let path = open.pop(); path !== undefined && pages.size < 150; path = open.pop()) {
    if (pages.has(path)) continue;
    const page: Page = await browser.open(path);
    pages.set(path, page.text);
    for (const [, href = ''] of page.text.matchAll(/href="(\/console[^"#]*)/g)) {
      const to = href.replaceAll('&amp;', '&');
      if (!/sign-out|month=|week=|date=/.test(to)) open.push(to);
    }
  }
  return pages;
}

/** Everything that a party can read, by location. */
async function seenBy(party: Party): Promise<Map<string, string>> {
  const seen = await consoleOf(party);
  const get = async (path: string) => seen.set(`GET ${path}`, (await service.get(path, { key: party.key })).body);
  await get('/bookings');
  await get('/webhooks');
  await get('/communities/1/reviews');
  const { client } = await connect(url, {
    email: party.email,
    password,
    account: `${party.account.kind}:${party.account.id}`,
  });
  const call = async (name: string, input: Record<string, unknown>) =>
    seen.set(`MCP ${name} ${JSON.stringify(input)}`, JSON.stringify(await client.callTool({ name, arguments: input })));
  await call('who_am_i', {});
  await call('list_bookings', {});
  await call('list_reviews', { communityId: 1 });
  await call('find_spaces', {});
  for (const id of [1, 2, 3, 4]) {
    await get(`/bookings/${id}/history`);
    await get(`/bookings/${id}/history?asOf=${encodeURIComponent(new Date(NOON).toISOString())}`);
    await call('booking_history', { bookingId: id });
  }
  await client.close();
  seen.set('deliveries', deliveredTo(party === brand ? '/buyer' : '/host'));
  return seen;
}

test.each(['brand', 'community'] as const)(
  'nothing that a %s sees reveals who acted for the other party',
  async (which) => {
    const [me, other] = which === 'brand' ? [brand, community] : [community, brand];
    const seen = await seenBy(me);
    const all = [...seen.values()].join('\n');
    // It sees what it should: its own people and keys, and the name of the other party.
    for (const own of [me.email, 'Desk of', other.account.kind === 'Brand' ? 'Acme' : 'Harbour'])
      expect(all).toContain(own);
    expect([...seen.keys()].filter((where) => /^\/console\/bookings\/\d+$/.test(where)).length).toBeGreaterThan(3);
    expect([...seen.keys()].filter((where) => where.startsWith('/console/history')).length).toBeGreaterThan(3);
    for (const where of ['GET /bookings/1/history', 'MCP booking_history {"bookingId":1}']) {
      expect(seen.get(where), where).toContain('BookingApproved');
      expect(seen.get(where), where).toContain(other.account.kind === 'Brand' ? 'Acme' : 'Harbour');
    }
    expect(seen.get('deliveries')).toMatch(/BookingApproved.*BookingCancelled.*ReviewPosted/s);
    for (const [where, text] of seen)
      for (const trace of other.traces) expect(text.includes(trace), `${trace} in ${where}`).toBe(false);
    // Nor through the history of the booking.
    for (const trace of other.traces.filter((each) => !each.includes(' ')))
      for (const kind of ['user', 'apiKey', 'client']) {
        const page = await me.browser.open(`/console/history?${new URLSearchParams({ of: `${kind}:${trace}` })}`);
        expect(page.text, trace).toContain('Nothing here');
      }
  },
);
