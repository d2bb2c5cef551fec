import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openCore } from '../../src/core.ts';
import { communityId as communityIdOf } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
/** A second service on the same store, as in another process, without a projector. */
let other: Awaited<ReturnType<typeof beside>>;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let space: number;

async function beside({ config, time }: RunningService) {
  const core = await openCore(config, pino({ level: 'silent' }), { clock: () => time.now });
  const app = await createApp(core);
  await app.ready();
  await core.projector.readModels.readable(10_000);
  return { core, app };
}

beforeAll(async () => {
  service = await runService();
  other = await beside(service);
  community = await service.community();
  brand = await service.brand();
  space = await service.space(community);
});
afterAll(async () => {
  await other.app.close();
  await other.core.close();
  await service.stop();
});

type Ask = { readonly key?: string; readonly held?: string | undefined; readonly from?: RunningService['app'] };

async function get(url: string, { key = brand.key, held, from = service.app }: Ask = {}) {
  const headers = { authorization: `Bearer ${key}`, ...(held !== undefined && { 'if-none-match': held }) };
  const { statusCode, headers: answered, body } = await from.inject({ url: `/api/v1${url}`, headers });
  const { etag, 'cache-control': cacheControl, vary } = answered;
  return { status: statusCode, body, etag: etag === undefined ? undefined : String(etag), cacheControl, vary };
}

const book = async (startTime: string, startHour: number) =>
  (await service.post('/bookings', { key: brand.key, body: { spaceId: space, startTime, startHour } })).json().id;

const routes = () => [
  `/spaces/${space}/availability?date=2026-12-20`,
  '/spaces',
  `/spaces/${space}`,
  `/communities/${community.id}/reviews`,
];

describe('a conditional request with the current entity tag', () => {
  test.each([0, 1, 2, 3])('gets 304 without a body (route %i)', async (route) => {
    const url = routes()[route] ?? '';
    const key = community.key;
    const first = await get(url, { key });
    expect(first).toMatchObject({
      status: 200,
      etag: expect.stringMatching(/^W\/"[\w.-]+"$/),
      cacheControl: 'private, no-cache',
      vary: 'Authorization, Origin, Accept-Encoding',
    });
    const { etag, cacheControl, vary } = first;
    const unchanged = { status: 304, body: '', etag, cacheControl, vary };
    expect(await get(url, { key, held: etag })).toEqual(unchanged);
    // The same from another process.
    expect(await get(url, { key, held: etag, from: other.app })).toEqual(unchanged);
    for (const held of ['*', `"other", ${etag}`, etag?.replace('W/', '')])
      expect((await get(url, { key, held })).status, held).toBe(304);
    for (const held of ['"other"', 'W/"x", "y"', '', 'nonsense'])
      expect((await get(url, { key, held })).status, held).toBe(200);
  });

  test('a new event changes the entity tag of the booking history', async () => {
    const id = await book('2026-12-21', 10);
    const url = `/bookings/${id}/history`;
    const { etag } = await get(url);
    expect((await get(url, { held: etag, from: other.app })).status).toBe(304);
    accepted(
      await service.core.commands.bookings.approve(
        { bookingId: id, communityId: communityIdOf(community.id) },
        CONTEXT,
      ),
    );
    expect((await get(url, { held: etag, from: other.app })).status).toBe(200);
  });
});

test('an approval, which availability does not show, leaves the entity tag of the day unchanged', async () => {
  const id = await book('2026-12-22', 10);
  const url = `/spaces/${space}/availability?date=2026-12-22`;
  const { etag } = await get(url);
  const command = { bookingId: id, communityId: communityIdOf(community.id) };
  accepted(await service.core.commands.bookings.approve(command, CONTEXT));
  for (const from of [service.app, other.app])
    expect(await get(url, { held: etag, from })).toMatchObject({ status: 304, etag });
});

describe('errors take precedence over 304, in their order, and have no entity tag', () => {
  test('401, 403, 400, 404', async () => {
    const url = routes()[0] ?? '';
    const { etag } = await get(url);
    const stranger = await service.community('Europe/Berlin', 'Elsewhere');
    const without = await service.key(brand.account, 30);
    const answers = [
      await get(url, { held: etag, key: 'vbs_live_x' }),
      await get(url, { held: '*', key: without }),
      await get(`/spaces/${space}/availability?date=2026-11-30`, { held: '*' }),
      await get(url, { held: etag, key: stranger.key }),
      await get(`/communities/${community.id}/reviews`, { held: '*', key: stranger.key }),
      await get('/bookings/999/history', { held: '*' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 403, 400, 404, 404, 404]);
    for (const { etag: tag, cacheControl } of answers) expect([tag, cacheControl]).toEqual([undefined, 'no-store']);
  });

  test('a revoked key gets 401, even with a current entity tag', async () => {
    const issued = accepted(
      await service.core.commands.apiKeys.issue({ account: brand.account, permissions: 31, label: 'Short' }, CONTEXT),
    );
    const { etag } = await get('/spaces', { key: issued.key });
    expect((await get('/spaces', { key: issued.key, held: etag })).status).toBe(304);
    accepted(await service.core.commands.apiKeys.revoke({ apiKeyId: issued.apiKeyId }, CONTEXT));
    expect((await get('/spaces', { key: issued.key, held: etag })).status).toBe(401);
  });

  test('a 304 counts as a use of the key', async () => {
    const issued = accepted(
      await service.core.commands.apiKeys.issue({ account: brand.account, permissions: 31, label: 'Used' }, CONTEXT),
    );
    expect((await get('/spaces', { key: issued.key, held: '*' })).status).toBe(304);
    const used = () => service.core.apiKeyUsage.lastUsed([issued.apiKeyId]);
    await expect.poll(async () => (await used()).get(issued.apiKeyId)).toBeDefined();
  });
});

test('callers with other permissions or another account get other entity tags', async () => {
  const narrow = await service.key(brand.account, 3);
  const second = await service.brand('Second');
  const keys = [brand.key, narrow, second.key, community.key];
  const tags = await Promise.all(keys.map(async (key) => (await get('/spaces', { key })).etag));
  expect(new Set(tags).size).toBe(keys.length);
});

test('availability keeps its entity tag within the hour and changes it when the hour passes', async () => {
  const url = `/spaces/${space}/availability?date=2026-12-01`;
  service.time.now = NOON + 1_000;
  const { etag, body } = await get(url);
  service.time.now = NOON + 59 * 60_000;
  expect((await get(url, { held: etag })).status).toBe(304);
  service.time.now = NOON + 60 * 60_000;
  const later = await get(url, { held: etag });
  expect(later.status).toBe(200);
  expect(later.body).not.toBe(body);
  service.time.now = NOON;
});

test('a rebuild, which may correct a list without an event, changes the entity tag of lists', async () => {
  const reviews = `/communities/${community.id}/reviews`;
  const [before, free] = [await get(reviews, { key: community.key }), await get(routes()[0] ?? '')];
  await service.core.maintenance.rebuild(() => {});
  const held = before.etag;
  await expect.poll(async () => (await get(reviews, { key: community.key, held })).status).toBe(200);
  expect((await get(reviews, { key: community.key })).body).toBe(before.body);
  expect((await get(routes()[0] ?? '', { held: free.etag })).status).toBe(304);
});

test('the list of bookings has no entity tag, so that each request is answered with the current list', async () => {
  expect(await get('/bookings', { held: '*' })).toMatchObject({
    status: 200,
    etag: undefined,
    cacheControl: 'no-store',
  });
});

/** A random action. Its numbers select among existing items; a refusal is allowed and changes nothing. */
const step = fc.record({
  what: fc.oneof(
    { weight: 5, arbitrary: fc.constant('book' as const) },
    { weight: 2, arbitrary: fc.constantFrom('approve' as const, 'time' as const) },
    { weight: 3, arbitrary: fc.constantFrom('cancel' as const, 'complete' as const, 'review' as const) },
    { weight: 3, arbitrary: fc.constantFrom('close' as const, 'open' as const, 'open' as const, 'change' as const) },
  ),
  in: fc.boolean(),
  pick: fc.nat(1_000),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

test('under random changes in two processes, equal entity tags have equal bodies and only a current one gets 304', async () => {
  const second = await service.brand('Another');
  const night = await service.space(community, { windowStart: 0, windowEnd: 24 - 1, durationHours: 1 });
  const keys = [brand.key, second.key, community.key];
  const bodies = new Map<string, string>();
  const held = new Map<string, string>();
  const ids: number[] = [];

  const inDays = (days: number) => new Date(service.time.now + days * 86_400_000).toISOString().slice(0, 10);

  async function perform({ what, in: elsewhere, pick }: Step): Promise<void> {
    const { app, core } = elsewhere ? other : service;
    const { commands } = core;
    const id = ids[pick % Math.max(1, ids.length)] ?? 0;
    const communityId = communityIdOf(community.id);
    switch (what) {
      case 'book': {
        const payload = { spaceId: night, startTime: inDays(pick % 4), startHour: pick % 23 };
        const authorization = `Bearer ${keys[pick % 2]}`;
        const answer = await app.inject({
          method: 'POST',
          url: '/api/v1/bookings',
          headers: { authorization },
          payload,
        });
        if (answer.statusCode === 201) ids.push(answer.json().id);
        return;
      }
      case 'approve':
        return void (await commands.bookings.approve({ bookingId: id, communityId }, CONTEXT));
      case 'cancel':
        return void (await commands.bookings.cancel(
          { bookingId: id, by: { kind: 'Community', id: communityId } },
          CONTEXT,
        ));
      case 'complete':
        return void (await commands.bookings.complete(id, CONTEXT));
      case 'review':
        return void (await commands.reviews.post({ bookingId: id, rating: 5, title: 'T', content: 'C' }, CONTEXT));
      case 'close':
        return void (await commands.catalogue.closeSpace(night, CONTEXT));
      case 'open':
        return void (await commands.catalogue.openSpace(night, CONTEXT));
      case 'change':
        return void (await commands.catalogue.changeSpace(
          {
            spaceId: night,
            terms: { durationHours: 1 + (pick % 4), noticeHours: pick % 3 },
          },
          CONTEXT,
        ));
      case 'time':
        service.time.now += (pick % 5) * 20 * 60_000;
        return;
      default:
        return what satisfies never;
    }
  }

  async function look(): Promise<void> {
    const urls = [
      `/spaces/${night}/availability?date=${inDays(0)}`,
      `/spaces/${night}/availability?date=${inDays(1)}`,
      '/spaces',
      `/communities/${community.id}/reviews`,
      ...ids.slice(-2).map((id) => `/bookings/${id}/history`),
    ];
    for (const url of urls)
      for (const key of keys)
        for (const { app: from } of [service, other]) {
          const fresh = await get(url, { key, from });
          if (fresh.status !== 200) continue;
          const of = `${url} ${key}`;
          expect(fresh.etag, url).toBeDefined();
          const tag = `${of} ${fresh.etag}`;
          expect(fresh.body, tag).toBe(bodies.get(tag) ?? fresh.body);
          bodies.set(tag, fresh.body);
          const last = held.get(of);
          const asked = await get(url, { key, from, held: last });
          if (asked.status === 304) expect(fresh.body, tag).toBe(bodies.get(`${of} ${last}`));
          else expect(asked.etag).not.toBe(last);
          held.set(of, fresh.etag ?? '');
        }
  }

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 14 }), async (steps) => {
      for (const each of steps) {
        await perform(each);
        await look();
      }
    }),
    { numRuns: 12, endOnFailure: true },
  );
  expect(ids.length).toBeGreaterThan(5);
}, 60_000);
