import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API_SCOPE, REDIRECT, TestApp } from './authorization-server/test-app.ts';
import { Browser } from './browser.ts';
import { startDemo } from './console/console.fixture.ts';
import { MONGODB, ownDatabase } from './document-store/engines.ts';
import { createOwnLog } from './event-store/eventstoredb/own-log.ts';
import { eventually } from './eventually.ts';
import { inDays } from './in-days.ts';
import { lacks } from './lacks.ts';
import { connect } from './mcp/connected-client.ts';
import { startProxyTo } from './proxy.ts';

/** The limit that docs/guides/rest-api.md promises, in milliseconds, and the margin for a busy machine. */
const ANSWERED_WITHIN_MS = 10_000;
const SLACK_MS = 3_000;

/** `ANSWERED_WITHIN_MS` of src/http/request-deadline.ts. */
const DEADLINE_MS = 9_500;
/** Blocks the event loop as a busy machine does: all timers that are due meanwhile fire in one turn. */
const blockThread = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

type Engine = 'EventStoreDB' | 'MongoDB';
type Answered = {
  readonly status: number;
  readonly ms: number;
  readonly retryAfter: string | null;
  readonly body: string;
};

const authorizationOf = (app: string): string =>
  `/connect/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: app,
    redirect_uri: REDIRECT,
    scope: API_SCOPE,
    resource: 'api',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  })}`;

async function open() {
  const log = await createOwnLog({ forProxy: true });
  const proxies = {
    EventStoreDB: await startProxyTo(log.settings.EVENTSTORE_URL),
    MongoDB: await startProxyTo(ownDatabase()),
  };
  const running = await startDemo({
    ...log.settings,
    EVENTSTORE_URL: proxies.EventStoreDB.url,
    MONGODB_URL: proxies.MongoDB.url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DEMO: 'true',
    LOG_LEVEL: 'silent',
  });
  const [brand] = running.demo.brands;
  const [community] = running.demo.communities;
  const app = await TestApp.register(running.url);
  const signIn = { ...brand.user, account: `Brand:${brand.id}` };
  const browser = new Browser(running.url);
  await browser.signIn(community.user);
  return {
    running,
    proxies,
    brand,
    spaceId: community.spaces[0].id,
    tokens: await app.tokens({ ...signIn, scope: API_SCOPE }),
    appId: app.id,
    tools: (await connect(running.url, signIn)).client,
    browser,
    async stop() {
      for (const proxy of Object.values(proxies)) proxy.go();
      await running.stop();
      for (const proxy of Object.values(proxies)) proxy.close();
      await log.stop();
    },
  };
}

describe.skipIf(lacks(MONGODB))('a server that hangs', { timeout: 120_000 }, () => {
  let venue: Awaited<ReturnType<typeof open>>;
  // Each test leaves a service that works again.
  beforeAll(async () => {
    venue = await open();
  });
  afterAll(() => venue.stop());

  const timed = async (ask: () => Promise<Response>): Promise<Answered> => {
    const began = performance.now();
    const answer = await ask();
    const body = await answer.text();
    const { status, headers } = answer;
    return { status, body, ms: performance.now() - began, retryAfter: headers.get('retry-after') };
  };
  const path = (to: string) => `${venue.running.url}${to}`;
  const get = (to: string) =>
    timed(() => fetch(path(`/api/v1${to}`), { headers: { authorization: `Bearer ${venue.brand.apiKey}` } }));
  const ready = () => timed(() => fetch(path('/readyz')));
  const book = (day: number, key: string) =>
    timed(() =>
      fetch(path('/api/v1/bookings'), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${venue.brand.apiKey}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({ spaceId: venue.spaceId, startTime: inDays(day), startHour: 12 }),
      }),
    );
  const refresh = () =>
    timed(() =>
      fetch(path('/connect/token'), {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token: venue.tokens.refresh_token ?? '',
          client_id: venue.appId,
          resource: 'api',
        }),
      }),
    );
  const page = async (to: string) => {
    const began = performance.now();
    const { status, text, headers } = await venue.browser.request(to);
    return { status, body: text, ms: performance.now() - began, retryAfter: headers.get('retry-after') };
  };
  const tool = async () => {
    const began = performance.now();
    const outcome = await venue.tools
      .callTool({ name: 'list_bookings', arguments: {} })
      .catch((error: unknown) => error);
    return { outcome, ms: performance.now() - began };
  };
  const toolRequest = (day: number) => ({ spaceId: venue.spaceId, date: inDays(day), startHour: 12 });
  const stop = (engine: Engine) => {
    const proxy = venue.proxies[engine];
    proxy.stop();
    return proxy;
  };
  const inTime = (...answers: readonly { readonly ms: number }[]) => {
    for (const { ms } of answers) expect(ms).toBeLessThan(ANSWERED_WITHIN_MS + SLACK_MS);
  };
  const INTERNAL_ERROR = /^\{"error":"InternalError","details":"/;

  test('MongoDB: every interface reports the failure in time, and recovers afterwards', async () => {
    const proxy = stop('MongoDB');
    const [bookings, availability, posted, readiness, token, inbox, authorize, called] = await Promise.all([
      get('/bookings'),
      get(`/spaces/${venue.spaceId}/availability?date=${inDays(40)}`),
      book(40, 'mongo'),
      ready(),
      refresh(),
      page('/console/inbox'),
      page(authorizationOf(venue.appId)),
      tool(),
    ]);
    inTime(bookings, availability, posted, readiness, token, inbox, authorize, called);
    for (const answer of [bookings, availability, posted]) {
      expect(answer).toMatchObject({ status: 500, retryAfter: '2', body: expect.stringMatching(INTERNAL_ERROR) });
    }
    expect(readiness).toMatchObject({ status: 503, body: expect.stringContaining('"documentStore":"unreachable"') });
    expect(token).toMatchObject({
      status: 503,
      retryAfter: '2',
      body: expect.stringContaining('"error":"temporarily_unavailable"'),
    });
    for (const shown of [inbox, authorize])
      expect(shown).toMatchObject({
        status: 503,
        retryAfter: '2',
        body: expect.stringMatching(/<html.*Not available right now/s),
      });
    expect(String(called.outcome instanceof Error ? called.outcome : JSON.stringify(called.outcome))).toMatch(
      /did not answer in time|cannot answer this/,
    );
    // Later calls are refused sooner or as late, but never hang.
    inTime(...(await Promise.all([get('/bookings'), book(41, 'later'), refresh(), ready()])));

    proxy.go();
    await eventually(async () => expect((await ready()).status).toBe(200));
    await eventually(async () => expect((await book(40, 'mongo')).status).toBe(201));
    await eventually(async () => expect((await get('/bookings')).status).toBe(200));
  });

  test('EventStoreDB: every interface answers in time from the available data, and recovers afterwards', async () => {
    const proxy = stop('EventStoreDB');
    const [posted, readiness, ...reads] = await Promise.all([
      book(50, 'esdb'),
      ready(),
      get('/bookings'),
      get(`/spaces/${venue.spaceId}/availability?date=${inDays(50)}`),
      refresh(),
      page('/console/inbox'),
      tool(),
    ]);
    inTime(posted, readiness, ...reads);
    expect(posted).toMatchObject({ status: 500, retryAfter: '2', body: expect.stringMatching(INTERNAL_ERROR) });
    expect(readiness).toMatchObject({ status: 503, body: expect.stringContaining('"eventStore":"unreachable"') });
    proxy.go();
    await eventually(async () => expect((await ready()).status).toBe(200));
    await eventually(async () => expect((await book(50, 'esdb')).status).toBe(201));
  });

  test('a booking stored after the deadline is found with its idempotency key, and is the only one', async () => {
    const inbox = await venue.browser.open('/console/inbox');
    const { events } = venue.running.service.core;
    const stored: string[] = [];
    const deadline = Promise.withResolvers<void>();
    const append = events.append.bind(events);
    vi.spyOn(events, 'append').mockImplementation(async (stream, ...more) => {
      if (!stream.startsWith('spaceDay-')) return append(stream, ...more);
      await deadline.promise;
      const appended = await append(stream, ...more);
      stored.push(stream);
      return appended;
    });
    const busy = setTimeout(() => blockThread(700), DEADLINE_MS - 200);
    const [called, approved, posted] = await Promise.all([
      // On another day, because commands on the same day wait for each other.
      venue.tools.callTool({ name: 'request_booking', arguments: { ...toolRequest(61), idempotencyKey: 'tool' } }),
      venue.browser.send(inbox, /\/bookings\/\d+\/approve$/),
      book(60, 'late'),
    ]);
    clearTimeout(busy);
    inTime(posted);
    expect([approved.status, approved.text]).toEqual([
      503,
      expect.stringMatching(/whether this was done is not known\. Check whether it was before you try again/),
    ]);
    expect([called.isError, JSON.stringify(called.content)]).toEqual([
      true,
      expect.stringMatching(/whether this was done is not known\. .*same input.* is safe/),
    ]);
    expect(posted).toMatchObject({ status: 500, retryAfter: '2', body: expect.stringMatching(INTERNAL_ERROR) });
    expect(posted.body).toMatch(/whether this was done is not known.*same Idempotency-Key again is safe/);
    deadline.resolve();
    await eventually(() =>
      expect(stored).toEqual(expect.arrayContaining([60, 61].map((day) => `spaceDay-${venue.spaceId}-${inDays(day)}`))),
    );

    const again = await book(60, 'late');
    expect(again.status).toBe(201);
    const listed = await get(`/bookings?startDate=${inDays(60)}&endDate=${inDays(60)}`);
    expect(JSON.parse(listed.body)).toEqual([JSON.parse(again.body)]);
    const tool = await venue.tools.callTool({
      name: 'request_booking',
      arguments: { ...toolRequest(61), idempotencyKey: 'tool' },
    });
    expect(tool).toMatchObject({ structuredContent: { status: 'Pending', date: inDays(61) } });
    // A request with another key shows that the first request took the hour.
    expect((await book(60, 'other')).body).toContain('SlotUnavailable');
  });
});
