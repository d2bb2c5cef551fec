import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReadinessCheck } from '../../src/api/health.ts';
import { hooks } from '../../src/logger.ts';
import { createPrometheus } from '../../src/monitoring/prometheus.ts';
import { createReadings } from '../../src/monitoring/readings.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';

type Line = {
  readonly level: number;
  readonly msg: string;
  readonly route?: string;
  readonly [field: string]: unknown;
};

const USER = { email: 'ada@example.com', password: 'correct horse battery' };
const DEBUG = 20;
const INFO = 30;

let url: string;
let service: RunningService;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let spaceId: number;
let receiver: Receiver;
const written: string[] = [];
const prometheus = createPrometheus({ version: '1.2.3', generation: '1a2b3c4d' });

const lines = (): Line[] => written.map((line) => JSON.parse(line));
/** The lines about requests that the work ends with, at level `info` and above. */
async function linesOf(work: () => Promise<unknown>): Promise<Line[]> {
  const before = written.length;
  await work();
  // The line is written once the connection has let go of the answer.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return lines()
    .slice(before)
    .filter(({ level, route }) => level >= INFO && route !== undefined);
}

beforeAll(async () => {
  const logger = pino({ level: 'trace', hooks }, { write: (line: string) => void written.push(line) });
  const running = await runServiceAt('127.0.0.1', {}, logger, { metrics: prometheus });
  ({ url, service } = running);
  await service.core.webhooks.start();
  spaceId = await service.space(await service.community());
  brand = await service.brand();
  accepted(await service.core.users.add({ ...USER, accounts: [brand.account] }, BY_OPERATOR));
  receiver = await startReceiver();
  await running.listen();
});
afterAll(async () => {
  await service.core.webhooks.stop();
  await service.stop();
  await receiver.close();
});

/** Sends this on a connection of its own. @returns everything that was answered */
const raw = (text: string) =>
  new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', reject).on('close', () => resolve(answer));
  });

const book = (startHour: number, headers: Record<string, string> = {}, startTime = '2026-12-10') =>
  service.post('/bookings', { key: brand.key, body: { spaceId, startTime, startHour }, headers });

test('a change is one line with its sender; reads and what a stranger causes are none', async () => {
  let id: unknown;
  const booked = await linesOf(async () => {
    const answer = await book(10, { 'x-request-id': 'proxy-7' });
    id = answer.headers['x-request-id'];
  });
  expect(booked).toEqual([
    expect.objectContaining({
      level: INFO,
      msg: 'POST /api/v1/bookings 201',
      reqId: id,
      clientRequestId: 'proxy-7',
      method: 'POST',
      route: '/api/v1/bookings',
      status: 201,
      ms: expect.any(Number),
      account: `Brand:${brand.id}`,
      credential: expect.stringMatching(/^apiKey:/),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    }),
  ]);
  const quiet = await linesOf(async () => {
    for (const path of ['/bookings', `/spaces/${spaceId}/availability?date=2026-12-10`])
      expect((await service.get(path, { key: brand.key })).statusCode).toBe(200);
    expect((await service.post('/bookings', { body: {} })).statusCode).toBe(401);
    expect((await service.post('/bookings', { key: 'vbs_live_no', body: '{' })).statusCode).toBe(401);
    expect((await service.call('GET', '/no/such/page')).statusCode).toBe(404);
    expect((await service.call('POST', '/connect/token', { body: {} })).statusCode).toBe(400);
    expect((await service.call('GET', '/%ff%')).statusCode).toBe(400);
    expect((await service.call('GET', '/healthz', { headers: { 'x-request-id': 'a b' } })).statusCode).toBe(200);
  });
  expect(quiet).toEqual([]);
  // At level debug they are there. Paths are patterns.
  const routes = new Set(lines().map(({ route }) => route));
  expect(routes).toContain('/api/v1/spaces/:spaceId/availability');
  expect(routes).toContain('unknown');
  expect(written.join('')).not.toMatch(/no\/such|%ff|a b"/);
  // Also that of a URL that Fastify cannot read.
  for (const line of lines().filter(({ route }) => route !== undefined))
    expect(line.traceId, line.msg).toMatch(/^[0-9a-f]{32}$/);
});

test('no line has a link to a new password, an address or an invitation, at any level', async () => {
  const { users, passwordReset, invitations, clock } = service.core;
  const email = 'linked@example.com';
  const user = accepted(await users.add({ ...USER, email, accounts: [brand.account] }, BY_OPERATOR));
  const { account } = brand;
  const invited = accepted(
    await invitations.invite({ account, role: 'Viewer', email: 'i@example.com' }, undefined, BY_OPERATOR),
  );
  const [reset, invitation] = [passwordReset.mailed(user, clock()).url, invitations.mailed(invited).url];
  const browser = new Browser(url);
  const before = written.length;
  const page = await browser.open(reset);
  for (const path of [reset, invitation, invitation.replace('?', '/accept?')]) await browser.open(path);
  await browser.send(page, '/new', { password: 'short' });
  await browser.send(page, '/new', { password: 'another good password' });
  await browser.send(await browser.open(invitation), '/invitation', { password: 'another good password' });
  const text = written.slice(before).join('');
  expect(text).toContain('/console/password/new');
  for (const link of [reset, invitation]) expect(text).not.toContain(link.split('.').at(-1));
  expect(text).not.toMatch(/example\.com|another good/);
});

test('the trace of a request is in its line, in its events and in every delivery that follows', async () => {
  const { key } = brand;
  await service.post('/webhooks', { key, body: { url: receiver.url, events: 15 } });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const sent = `00-${traceId}-00f067aa0ba902b7-01`;
  receiver.answer = answering(500);
  const logged = await linesOf(() => book(16, { traceparent: sent }));
  expect(logged).toMatchObject([{ traceId }]);
  const eventOf = async (hour: number) => {
    const all = await Array.fromAsync(service.core.events.readAll({ types: ['BookingRequested'] }));
    return all.find(({ data }) => data.startHour === hour);
  };
  const event = await eventOf(16);
  expect(event?.metadata).toMatchObject({ traceId });

  await receiver.until(1);
  const deliveryId = String(receiver.received[0]?.headers['webhook-id']);
  const attempts = async () => (await service.core.webhooks.getDelivery(deliveryId))?.attempts ?? [];
  await eventually(async () => expect(await attempts()).toHaveLength(1));
  receiver.answer = answering(200);
  await service.core.webhooks.resend(deliveryId);
  await receiver.until(2);

  const traceparents = receiver.received.map(({ headers }) => String(headers.traceparent));
  expect(traceparents).toEqual([traceparents[0], expect.not.stringContaining(String(traceparents[0]))]);
  for (const each of traceparents) {
    expect(each).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(each).not.toBe(sent);
  }
  await eventually(async () => {
    const shown = await service.core.webhooks.requestHeaders(deliveryId, await attempts());
    expect(shown.map((each) => 'sent' in each && each.sent.find(([name]) => name === 'traceparent')?.[1])).toEqual(
      traceparents,
    );
  });

  // Not recorded by its sender; and a malformed one, which is replaced.
  const unrecorded = await linesOf(() =>
    book(11, { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` }, '2026-12-11'),
  );
  expect(unrecorded).toMatchObject([{ traceId: 'a'.repeat(32), traceFlags: '00' }]);
  const malformed = await linesOf(() => book(11, { traceparent: sent.toUpperCase() }, '2026-12-12'));
  expect(malformed).toMatchObject([{ traceId: expect.stringMatching(/^(?!4bf)[0-9a-f]{32}$/) }]);
  await receiver.until(4);
  expect(receiver.received[2]?.headers.traceparent).toMatch(/^00-a{32}-[0-9a-f]{16}-00$/);

  // Without a request: the id of the event. A test delivery without one: its own.
  accepted(
    await service.core.commands.bookings.approve(
      { bookingId: Number(event?.data.bookingId), communityId: Number(event?.data.communityId) as never },
      { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' },
    ),
  );
  await receiver.until(5);
  const [eventId = ''] = String(receiver.received[4]?.headers['webhook-id']).split(':');
  expect(receiver.received[4]?.headers.traceparent).toContain(eventId.replaceAll('-', ''));
});

test('no secret of a full run is in any line or metric', async () => {
  const secrets = new Map<string, string | undefined>([
    ['password', USER.password],
    ['API key', brand.key],
  ]);
  const { key } = brand;
  const webhook = (await service.post('/webhooks', { key, body: { url: receiver.url, events: 15 } })).json();
  secrets.set('signing secret', webhook.signingSecret);

  const browser = new Browser(url);
  await browser.signIn({ ...USER, password: 'not the password' });
  secrets.set('wrong password', 'not the password');
  await browser.signIn(USER);
  secrets.set('console session', browser.cookie('console'));
  await fetch(`${url}/console/live`, { method: 'HEAD', headers: { cookie: `console=${browser.cookie('console')}` } });
  const nightly = accepted(
    await service.core.authorizationServer.clients.addClient({ account: brand.account, name: 'Nightly' }, BY_OPERATOR),
  );
  secrets.set('client secret', nightly.clientSecret);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const granted = await service.call('POST', '/connect/token', {
    headers: { ...form, authorization: `Basic ${btoa(`${nightly.clientId}:${nightly.clientSecret}`)}` },
    body: 'grant_type=client_credentials&resource=api',
  });
  secrets.set('token of a client', granted.json().access_token);
  const app = await TestApp.register(url);
  const consent = { ...USER, account: `Brand:${brand.id}` };
  const { callback, verifier } = await app.allow(consent);
  secrets.set('code', callback.searchParams.get('code') ?? undefined);
  secrets.set('PKCE verifier', verifier);
  const tokens = await app.tokens(consent);
  secrets.set('access token', tokens.access_token);
  secrets.set('refresh token', tokens.refresh_token);
  secrets.set('id token', tokens.id_token);
  const renewed = await app.refresh(tokens.refresh_token);
  secrets.set('second refresh token', renewed.refresh_token);
  // A refresh token that is used again ends the grant.
  await app.refresh(tokens.refresh_token).catch(() => {});

  // Requests with a token, by its client and by one of an account.
  const last = await app.tokens(consent);
  const token = String(last.access_token);
  secrets.set('last access token', token);
  secrets.set('last refresh token', last.refresh_token);
  const post = (path: string, fields: string, headers: Record<string, string> = {}) =>
    service.call('POST', path, { headers: { ...form, ...headers }, body: fields });
  const asNightly = { authorization: `Basic ${btoa(`${nightly.clientId}:${nightly.clientSecret}`)}` };
  await service.call('GET', '/connect/userinfo', { headers: { authorization: `Bearer ${token}` } });
  expect((await post('/connect/introspect', `token=${token}`, asNightly)).json().active).toBe(true);
  // Anyone can register such a client, so its id proves nothing.
  await post('/connect/revoke', `token=unknown&client_id=${app.id}`);
  await post('/connect/revoke', `token=${token}&client_id=${app.id}`);
  const sent = lines().filter(({ route }) => /userinfo|introspect|revoke/.test(String(route)));
  expect(sent.map(({ level, msg, credential, account }) => [level >= INFO, msg, credential, account])).toEqual([
    [false, 'GET /connect/userinfo 200', `client:${app.id}`, `Brand:${brand.id}`],
    [false, 'POST /connect/introspect 200', `client:${nightly.clientId}`, `Brand:${brand.id}`],
    [false, 'POST /connect/revoke 200', undefined, undefined],
    [true, 'POST /connect/revoke 200', `client:${app.id}`, `Brand:${brand.id}`],
  ]);

  // Sent where they do not belong.
  for (const secret of secrets.values()) {
    const encoded = encodeURIComponent(String(secret));
    await service.call('GET', `/api/v1/bookings/${encoded}`, { key });
    await service.call('GET', `/${encoded}?to=${encoded}`, { headers: { accept: 'text/html' } });
    await service.call('GET', `/console/sign-in/callback?code=${encoded}&state=${encoded}`);
    await service.call('GET', `/console/callback?code=${encoded}&state=${encoded}`);
    await service.call('POST', '/api/v1/bookings', { key: String(secret), body: `{"message":"${secret}"` });
    await service.call('POST', '/mcp', { key: String(secret), body: {} });
    await service.call('POST', '/connect/token', {
      headers: form,
      body: `grant_type=authorization_code&code=${encoded}&client_secret=${encoded}&client_id=${encoded}`,
    });
    await service.call('POST', '/connect/revoke', {
      headers: form,
      body: `token=${encoded}&client_id=${encoded}`,
    });
  }
  // Refused before there is a route: an unknown method, headers that are too long, a tunnel, a request that does not arrive in time.
  const { server } = service.app;
  const bearer = `Authorization: Bearer ${key}\r\n`;
  const head = `GET /x?key=${key} HTTP/1.1\r\nHost: x\r\n${bearer}`;
  await raw(`NO${head}\r\n`);
  await raw(`${head}Cookie: ${key.repeat(1_000)}\r\n\r\n`);
  await raw(`CONNECT ${key}:443 HTTP/1.1\r\nHost: x\r\n${bearer}\r\n`);
  server.headersTimeout = 100;
  expect(await raw(head)).toContain('The request did not arrive in time.');
  // A browser opens connections ahead of time. An answer there would be taken for that of a later request.
  expect(await raw('')).toBe('');
  server.headersTimeout = 30_000;
  // Fastify has this request, so that it is counted by its route.
  expect(await raw(`POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n`)).not.toBe('');
  const refused = lines().filter(({ route }) => route === 'refused');
  expect(refused.map(({ level, msg, reason }) => [level, msg, reason])).toEqual([
    [DEBUG, 'unknown refused 400', 'HPE_INVALID_METHOD'],
    [DEBUG, 'unknown refused 400', 'HPE_HEADER_OVERFLOW'],
    [DEBUG, 'CONNECT refused 404', undefined],
    [DEBUG, 'unknown refused 400', 'ERR_HTTP_REQUEST_TIMEOUT'],
  ]);

  const { core } = service;
  const readings = createReadings({
    ...core,
    check: createReadinessCheck({
      ping: { eventStore: () => core.events.ping(), documentStore: () => core.documents.ping() },
      readModels: core.projector.readModels.status,
      failedEvents: core.webhooks.countFailedEvents,
    }),
  });
  const text = await prometheus.exposition(readings);
  expect(text).toMatch(
    /^venue_http_request_duration_seconds_bucket\{method="POST",route="\/api\/v1\/bookings",status="201",le="10"\} [1-9]/m,
  );
  expect(text).toContain('venue_sign_ins_total{outcome="success"}');
  expect(text).toContain('venue_sign_ins_total{outcome="wrong_password"} 1');
  expect(text).toMatch(/venue_credentials_refused_total\{reason="api_key"\} \d/);
  expect(text).toMatch(/venue_commands_total\{stream="spaceDay",outcome="accepted"\} \d/);
  expect(text).toMatch(/venue_webhook_attempts_total\{outcome="5xx"\} 1\n/);
  expect(text).toContain('duration_seconds_count{method="unknown",route="refused",status="400"} 3\n');
  expect(text).not.toContain('venue_scrape_errors_total{');
  expect(text).not.toMatch(/route="[^"]*(?:ada@|vbs_live|\?|\()/);

  expect([...secrets.values()].filter((secret) => secret === undefined || secret.length < 10)).toEqual([]);
  const found = [...secrets].flatMap(([name, secret = '']) => [
    ...written.filter((line) => line.includes(secret)).map((line) => `${name}: ${line}`),
    ...(text.includes(secret) ? [`${name} in the metrics`] : []),
  ]);
  expect(found).toEqual([]);
  // Also a page that only listens.
  expect(lines().find(({ route }) => route === '/console/live')).toMatchObject({ account: `Brand:${brand.id}` });
  // Lines at level info say who signed in, and which app was given tokens.
  const told = lines().filter(({ level, route }) => level >= INFO && route !== undefined);
  expect(told.map(({ msg, credential }) => `${msg} ${credential}`)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^POST \/connect\/interaction\/:uid\/sign-in 303 user:/),
      expect.stringMatching(/^POST \/connect\/token 200 client:/),
    ]),
  );
});
