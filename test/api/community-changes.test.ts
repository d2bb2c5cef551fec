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

/** As a process does that dies before the spaces have their zone, or whose check is outdated by a request. */
async function appendZone(timeZone: string): Promise<void> {
  const stream = streamOf.community(communityId(harbour.id));
  const { revision } = (await Array.fromAsync(service.core.events.readStream(stream))).at(-1) ?? { revision: 0 };
  const data = { communityId: harbour.id, timeZone };
  const metadata = { at: new Date(NOON).toISOString(), actor: CONTEXT.actor, correlationId: 'test', schema: 1 };
  await service.core.events.append(stream, [{ type: 'CommunityChanged', data, metadata }], {
    expectedRevision: revision,
  });
}

const cancel = (id: number) =>
  service.core.commands.bookings.cancel(
    { bookingId: id, by: { kind: 'Community', id: communityId(harbour.id) } },
    CONTEXT,
  );

test('the zone cannot be changed while requests and bookings are open, and the name can', async () => {
  const { bookings } = service.core.commands;
  const [pending, approved, declined] = [await book('2026-12-11'), await book('2026-12-13'), await book('2026-12-20')];
  accepted(await bookings.approve({ bookingId: approved, communityId: communityId(harbour.id) }, CONTEXT));
  accepted(await cancel(declined));
  const refused = (count: number, date: string) => ({
    refused: 'ValidationError',
    details: `timeZone cannot be changed while requests and bookings are open: ${count}, the last on ${date}.`,
  });
  expect(await change({ name: 'Hudson', timeZone: 'America/New_York' })).toMatchObject(refused(2, '2026-12-13'));
  accepted(await change({ name: 'Hudson', timeZone: 'europe/berlin' }));
  expect((await service.get(`/spaces/${space}`, { key: brand.key })).json().communityName).toBe('Hudson');
  // An approved booking is open until it is completed, a request until it is answered.
  accepted(await cancel(approved));
  expect(await change({ timeZone: 'America/New_York' })).toMatchObject(refused(1, '2026-12-11'));
  accepted(await cancel(pending));
  accepted(await change({ timeZone: 'America/New_York' }));
});

test('requests follow the new clock', async () => {
  accepted(await change({ name: 'Hudson', timeZone: 'america/new_york' }));
  const shown = (await service.get(`/spaces/${space}`, { key: brand.key })).json();
  expect(shown).toMatchObject({ communityName: 'Hudson', timeZone: 'America/New_York' });
  const id = await book('2026-12-10');
  expect(await service.core.queries.bookings.get(brand.account, id)).toMatchObject({
    startHour: 10,
    timeZone: 'America/New_York',
    startsAt: '2026-12-10T15:00:00.000Z',
  });
  // Today in New York is still the tenth.
  service.time.now = Date.parse('2026-12-11T04:59:00Z');
  const today = await service.get(`/spaces/${space}/availability?date=2026-12-10`, { key: brand.key });
  expect(today.statusCode).toBe(200);
});

test('a request of the moment at which the zone changes keeps its times, and holds them', async () => {
  const { bookings } = service.core.commands;
  const [id, unanswered] = [await book('2026-12-10'), await book('2026-12-11')];
  accepted(await bookings.approve({ bookingId: id, communityId: communityId(harbour.id) }, CONTEXT));
  const before = (await service.get(`/bookings/${id}`, { key: brand.key })).json();
  // The change had found no open booking.
  await appendZone('Europe/Lisbon');
  accepted(await change({ timeZone: 'Europe/Lisbon' }));
  expect((await service.get(`/spaces/${space}`, { key: brand.key })).json().timeZone).toBe('Europe/Lisbon');
  expect((await service.get(`/bookings/${id}`, { key: brand.key })).json()).toEqual(before);

  // 10:00 to 14:00 in Berlin is 9:00 to 13:00 in Lisbon.
  const answer = await service.get(`/spaces/${space}/availability?date=2026-12-10`, { key: brand.key });
  const slots: { hour: number; isAvailable: boolean }[] = answer.json().timeSlots;
  const open = slots.filter(({ isAvailable }) => isAvailable).map(({ hour }) => hour);
  expect(open).toEqual([13, 14, 15, 16, 17, 18, 19, 20, 21]);
  const body = { spaceId: space, startTime: '2026-12-10', startHour: 12 };
  expect((await service.post('/bookings', { key: brand.key, body })).json().error).toBe('SlotUnavailable');
  expect((await service.post('/bookings', { key: brand.key, body: { ...body, startHour: 13 } })).statusCode).toBe(201);

  service.time.now = Date.parse('2026-12-10T12:59:00Z');
  expect(accepted(await bookings.complete(id, CONTEXT)).events).toEqual([]);
  service.time.now = Date.parse('2026-12-10T13:00:00Z');
  expect(accepted(await bookings.complete(id, CONTEXT)).events).toHaveLength(1);
  service.time.now = Date.parse('2026-12-11T09:00:00Z');
  expect(accepted(await bookings.expire(unanswered, CONTEXT)).events).toHaveLength(1);
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
  await appendZone('Asia/Tokyo');
  expect((await service.get(`/spaces/${space}`, { key: brand.key })).json().timeZone).toBe('Europe/Berlin');
  expect(accepted(await change({ timeZone: 'Asia/Tokyo' })).events).toEqual([]);
  expect((await service.get(`/spaces/${space}`, { key: brand.key })).json().timeZone).toBe('Asia/Tokyo');
});

test('the command line changes a community, and refuses what is wrong', async () => {
  useDataDir(service.config.dataDir);
  const id = String(harbour.id);
  expect(await json('community', 'change', id, '--name', 'Quay', '--time-zone', 'europe/london')).toEqual({
    id: harbour.id,
    name: 'Quay',
    timeZone: 'Europe/London',
  });
  await book('2026-12-10');
  for (const [args, code, message] of [
    [['community', 'change', id], 2, 'nothing to change'],
    [['community', 'change', id, '--time-zone', 'Europe/Paris'], 1, 'bookings are open: 1, the last on 2026-12-10'],
    [['community', 'change', id, '--name', ' '], 1, 'name must have 1 to 200 characters'],
    [['community', 'change', id, '--time-zone', 'Mars/Olympus'], 1, 'timeZone must be an IANA zone'],
    [['community', 'change', '4711', '--name', 'X'], 1, 'There is no community 4711'],
  ] as const) {
    const refused = await inProcess(...args);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(message)]);
  }
});
