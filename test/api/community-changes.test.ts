import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { communityId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { accepted } from '../accepted.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let harbour: { readonly id: number; readonly account: Account; readonly key: string };
let brand: { readonly key: string; readonly account: Account };
let space: number;

beforeAll(async () => {
  service = await runService();
});
beforeEach(async () => {
  service.time.now = NOON;
  [harbour, brand] = [await service.community('Europe/Berlin', 'Harbour'), await service.brand()];
  space = await service.space(harbour, { answerHours: 30 * 24 });
});
afterAll(() => service.stop());

const change = (facts: { readonly name?: string; readonly timeZone?: string }) =>
  service.core.commands.catalogue.changeCommunity({ communityId: harbour.id, facts }, CONTEXT);
const book = async (startTime: string): Promise<number> =>
  (await service.post('/bookings', { key: brand.key, body: { spaceId: space, startTime, startHour: 10 } })).json().id;

test('a community gets another name and zone, and its bookings keep their date and hour by the new clock', async () => {
  const { bookings } = service.core.commands;
  const [id, unanswered] = [await book('2026-12-10'), await book('2026-12-11')];
  const before = (await service.get(`/bookings/${id}`, { key: brand.key })).json();
  accepted(await change({ name: 'Hudson', timeZone: 'america/new_york' }));

  const shown = (await service.get(`/spaces/${space}`, { key: brand.key })).json();
  expect(shown).toMatchObject({ communityName: 'Hudson', timeZone: 'America/New_York' });
  expect((await service.get(`/bookings/${id}`, { key: brand.key })).json()).toEqual(before);
  expect(await service.core.queries.bookings.get(brand.account, id)).toMatchObject({
    ...{ date: '2026-12-10', startHour: 10, timeZone: 'America/New_York' },
  });

  // 14:59 in Berlin, where it would have begun; 08:59 in New York, where it has not.
  service.time.now = Date.parse('2026-12-10T13:59:00Z');
  accepted(await bookings.approve({ bookingId: id, communityId: communityId(harbour.id) }, CONTEXT));
  // It is over at 14:00 in New York.
  const completed = async (at: string) => {
    service.time.now = Date.parse(at);
    return accepted(await bookings.complete(id, CONTEXT)).events.length;
  };
  expect(await completed('2026-12-10T18:59:00Z')).toBe(0);
  expect(await completed('2026-12-10T19:00:00Z')).toBe(1);
  // Today in New York is still the tenth.
  service.time.now = Date.parse('2026-12-11T04:59:00Z');
  const today = await service.get(`/spaces/${space}/availability?date=2026-12-10`, { key: brand.key });
  expect(today.statusCode).toBe(200);
  expect(accepted(await bookings.expire(unanswered, CONTEXT)).events).toEqual([]);
});

test('history and audit show what was changed, from what, by whom', async () => {
  accepted(await change({ name: 'Hudson', timeZone: 'America/New_York' }));
  const stored = await Array.fromAsync(service.core.events.readStream(streamOf.community(communityId(harbour.id))));
  expect(stored.map(({ type }) => type)).toEqual(['CommunityAdded', 'CommunityChanged']);
  const { changes } = await service.core.queries.accountHistory.page(harbour.account, { limit: 20 });
  expect(changes.map(({ event }) => event.type)).toEqual(
    expect.arrayContaining(['SpaceChanged', 'CommunityChanged', 'CommunityAdded']),
  );
  useDataDir(service.config.dataDir);
  vi.useFakeTimers({ now: NOON, toFake: ['Date'] });
  try {
    expect(await json('audit', '--community', String(harbour.id), '--kind', 'CommunityChanged')).toMatchObject([
      {
        of: { kind: 'account' },
        actor: { kind: 'operator', id: 'test' },
        changes: {
          name: { from: 'Harbour', to: 'Hudson' },
          timeZone: { from: 'Europe/Berlin', to: 'America/New_York' },
        },
      },
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test('repeating a change finishes one that was interrupted before all spaces had their zone', async () => {
  const stream = streamOf.community(communityId(harbour.id));
  const { revision } = (await Array.fromAsync(service.core.events.readStream(stream))).at(-1) ?? { revision: 0 };
  const data = { communityId: harbour.id, timeZone: 'Asia/Tokyo' };
  const metadata = { at: new Date(NOON).toISOString(), actor: CONTEXT.actor, correlationId: 'test', schema: 1 };
  await service.core.events.append(stream, [{ type: 'CommunityChanged', data, metadata }], {
    expectedRevision: revision,
  });
  expect((await service.get(`/spaces/${space}`, { key: brand.key })).json().timeZone).toBe('Europe/Berlin');
  expect(accepted(await change({ timeZone: 'Asia/Tokyo' })).events).toEqual([]);
  expect((await service.get(`/spaces/${space}`, { key: brand.key })).json().timeZone).toBe('Asia/Tokyo');
});

test('the command line changes a community, and refuses what is wrong', async () => {
  useDataDir(service.config.dataDir);
  const id = String(harbour.id);
  expect(await json('community', 'change', id, '--name', 'Quay', '--time-zone', 'europe/london')).toEqual({
    ...{ id: harbour.id, name: 'Quay', timeZone: 'Europe/London' },
  });
  for (const [args, code, message] of [
    [['community', 'change', id], 2, 'nothing to change'],
    [['community', 'change', id, '--name', ' '], 1, 'name must have 1 to 200 characters'],
    [['community', 'change', id, '--time-zone', 'Mars/Olympus'], 1, 'timeZone must be an IANA zone'],
    [['community', 'change', '4711', '--name', 'X'], 1, 'There is no community 4711'],
  ] as const) {
    const refused = await inProcess(...args);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(message)]);
  }
});
