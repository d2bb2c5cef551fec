import * as oidc from 'openid-client';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accepted } from '../accepted.ts';
import { API_SCOPE, TestApp } from '../authorization-server/test-app.ts';
import { type RunningService, runService, runServiceAt } from '../running-service.fixture.ts';
import { BY_OPERATOR } from './change-log.ts';

/** Access tokens used with the REST API of a whole service. */

const user = { email: 'ada@example.com', password: 'correct horse battery' };
let service: RunningService;
let url: string;
let brand: { id: number; key: string };
let community: { id: number; key: string };
let spaceId: number;

beforeAll(async () => {
  const running = await runServiceAt();
  ({ url, service } = running);
  const [addedBrand, addedCommunity] = [await service.brand(), await service.community()];
  accepted(
    await service.core.users.add({ ...user, accounts: [addedBrand.account, addedCommunity.account] }, BY_OPERATOR),
  );
  [brand, community] = [addedBrand, addedCommunity];
  spaceId = await service.space(community);
  await running.listen();
});
afterAll(() => service.stop());

const asBrand = () => ({ ...user, account: `Brand:${brand.id}` });
const booking = (startHour: number, day = '2026-12-10') => ({ spaceId, startTime: day, startHour });

test('an app books for its user, refreshes its token, and loses access when the token is revoked', async () => {
  const app = await TestApp.register(url);
  const tokens = await app.tokens(asBrand());
  const booked = await service.post('/bookings', { key: tokens.access_token, body: booking(10) });
  expect(booked.statusCode).toBe(201);
  expect((await service.get('/bookings', { key: brand.key })).json()).toEqual([booked.json()]);
  const history = (await service.get(`/bookings/${booked.json().id}/history`, { key: brand.key })).json();
  expect(history).toMatchObject([{ actor: { kind: 'client', id: app.id, account: { kind: 'Brand', id: brand.id } } }]);

  const renewed = await app.refresh(tokens.refresh_token);
  expect((await service.get('/bookings', { key: renewed.access_token })).statusCode).toBe(200);
  await oidc.tokenRevocation(app.client, renewed.refresh_token ?? '');
  for (const token of [tokens.access_token, renewed.access_token]) {
    const refused = await service.get('/bookings', { key: token });
    expect([refused.statusCode, refused.json().error]).toEqual([401, 'InvalidApiKey']);
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/api/v1", error="invalid_token"`,
    );
  }
});

test('scopes grant permissions: anything else is 403', async () => {
  const app = await TestApp.register(url);
  const { access_token: reader } = await app.tokens({ ...asBrand(), scope: 'service.api.read' });
  expect((await service.get(`/spaces/${spaceId}/availability?date=2026-12-10`, { key: reader })).statusCode).toBe(200);
  for (const refused of [
    await service.post('/bookings', { key: reader, body: booking(15) }),
    await service.get('/webhooks', { key: reader }),
  ])
    expect([refused.statusCode, refused.json().error]).toEqual([403, 'InsufficientPermissions']);

  const { access_token: hooks } = await app.tokens({ ...asBrand(), scope: 'service.api.webhooks' });
  expect((await service.get('/webhooks', { key: hooks })).json()).toEqual([]);
  expect((await service.get('/bookings', { key: hooks })).json().error).toBe('InsufficientPermissions');
  const { access_token: nothing } = await app.tokens({ ...asBrand(), scope: 'openid' });
  expect((await service.get('/bookings', { key: nothing })).json().error).toBe('InsufficientPermissions');
});

test('only the 403 for a missing scope names the scope to request (RFC 6750, 3.1)', async () => {
  const app = await TestApp.register(url);
  const { access_token: reader } = await app.tokens({ ...asBrand(), scope: 'service.api.read' });
  const { access_token: hooks } = await app.tokens({ ...asBrand(), scope: 'service.api.webhooks' });
  const metadata = `resource_metadata="${url}/.well-known/oauth-protected-resource/api/v1"`;
  const challenge = (scope: string) => `Bearer ${metadata}, scope="${scope}", error="insufficient_scope"`;
  for (const [refused, scope] of [
    [await service.post('/bookings', { key: reader, body: booking(15) }), 'service.api.write'],
    [await service.get('/webhooks', { key: reader }), 'service.api.webhooks'],
    [await service.delete('/webhooks/wh_1', { key: reader }), 'service.api.webhooks'],
    [await service.get('/bookings', { key: hooks }), 'service.api.read'],
    [await service.get(`/spaces/${spaceId}/availability?date=2026-12-10`, { key: hooks }), 'service.api.read'],
    [await service.get('/communities/1/reviews', { key: hooks }), 'service.api.read'],
  ] as const) {
    expect([refused.statusCode, refused.json().error]).toEqual([403, 'InsufficientPermissions']);
    expect(refused.headers['www-authenticate']).toBe(challenge(scope));
  }
  // A browser app may read it.
  const preflighted = await fetch(`${url}/api/v1/webhooks`, {
    headers: { authorization: `Bearer ${reader}`, origin: 'https://app.example' },
  });
  expect(preflighted.headers.get('access-control-expose-headers')?.toLowerCase()).toContain('www-authenticate');

  // No scope gives an API key more permissions, or a community those of a brand.
  const narrow = await service.key({ kind: 'Brand', id: brand.id as never }, 1);
  const { access_token: ofCommunity } = await app.tokens({
    ...user,
    account: `Community:${community.id}`,
    scope: API_SCOPE,
  });
  for (const refused of [
    await service.get('/bookings', { key: narrow }),
    await service.post('/bookings', { key: ofCommunity, body: booking(16) }),
  ]) {
    expect(refused.statusCode).toBe(403);
    expect(refused.headers['www-authenticate']).toBeUndefined();
  }
});

test('the chosen account decides: a community cannot book and sees its own bookings', async () => {
  const app = await TestApp.register(url);
  const consent = { ...user, account: `Community:${community.id}`, scope: API_SCOPE };
  const { access_token: token } = await app.tokens(consent);
  const refused = await service.post('/bookings', { key: token, body: booking(16) });
  expect([refused.statusCode, refused.json().error]).toEqual([403, 'ScopeViolation']);
  const asKey = (await service.get('/bookings', { key: community.key })).json();
  expect((await service.get('/bookings', { key: token })).json()).toEqual(asKey);
});

test('a webhook belongs to the client and the account, not to the token', async () => {
  const app = await TestApp.register(url);
  const scope = 'offline_access service.api.webhooks';
  const tokens = await app.tokens({ ...asBrand(), scope });
  const body = { url: 'https://receiver.example/hook', events: 15 };
  const registered = await service.post('/webhooks', { key: tokens.access_token, body });
  expect(registered.statusCode).toBe(201);
  const renewed = await app.refresh(tokens.refresh_token);
  expect((await service.get('/webhooks', { key: renewed.access_token })).json()).toMatchObject([
    { id: registered.json().id },
  ]);
  const stranger = await (await TestApp.register(url)).tokens({ ...asBrand(), scope });
  expect((await service.get('/webhooks', { key: stranger.access_token })).json()).toEqual([]);
});

test('publishes the protected resource metadata of the API', async () => {
  const response = await fetch(`${url}/.well-known/oauth-protected-resource/api/v1`);
  expect(await response.json()).toMatchObject({
    resource: `${url}/api/v1`,
    authorization_servers: [url],
    scopes_supported: ['service.api.read', 'service.api.write', 'service.api.webhooks', 'service.api.customers'],
  });
});

test('rate limits count callers separately behind a trusted proxy; callers behind any other proxy share one limit, which is logged', async () => {
  const tokenRequest = (app: RunningService['app'], from: string) =>
    app.inject({
      method: 'POST',
      url: '/connect/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': from },
      payload: 'grant_type=refresh_token',
    });
  const callers = ['198.51.100.1', '198.51.100.2:5678', '198.51.100.2:5679', '2001:db8::1', '[2001:db8::1]:99'];
  const behindTwo = '198.51.100.2:5680, 10.0.0.7:1234';
  for (const [settings, left, warnings] of [
    [{ TRUST_PROXY: '127.0.0.1,10.0.0.0/8' }, ['599', '599', '598', '599', '598', '597'], 0],
    [{}, ['599', '598', '597', '596', '595', '594'], 1],
  ] as const) {
    const lines: string[] = [];
    const behind = await runService(settings, pino({ level: 'warn' }, { write: (line) => void lines.push(line) }));
    const remaining: unknown[] = [];
    for (const from of [...callers, behindTwo])
      remaining.push((await tokenRequest(behind.app, from)).headers['x-ratelimit-remaining']);
    expect(remaining).toEqual(left);
    const warned = lines.filter((line) => line.includes('TRUST_PROXY'));
    expect(warned).toHaveLength(warnings);
    for (const line of warned) expect(JSON.parse(line)).toMatchObject({ level: 40, proxy: '127.0.0.1' });
    await behind.stop();
  }
});
