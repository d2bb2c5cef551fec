import { randomUUIDv7 } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { closureId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { subjectOfUser } from '../../src/domain/personal-text.ts';
import { streamOf } from '../../src/domain/streams.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { json, useDataDir } from '../cli/in-process.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

/** A log with the events that the next release writes. */
let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let space: number;
const TITLE = 'Zwetschgenkuchen for the choir';
const AUTHOR = subjectOfUser('user-7');
const closure = { closureId: closureId('clo_1'), kind: 'Closure', start: 14, until: 24 } as const;
const CLOSED = '2026-12-10' as PlainDate;
const SPECIAL = '2026-12-13' as PlainDate;

async function append(stream: string, event: DomainEvent, expectedRevision: number | 'none' = 'none') {
  const sealed = await service.core.personalData.sealEvent(event, AUTHOR);
  if (isRefusal(sealed)) throw new Error(sealed.details);
  const metadata = { at: new Date(NOON).toISOString(), ...CONTEXT, schema: 1 };
  const events: Parameters<EventStore['append']>[1] = JSON.parse(
    JSON.stringify([{ id: randomUUIDv7(), ...sealed, metadata }]),
  );
  const { position } = await service.core.events.append(stream, events, { expectedRevision });
  await service.core.projector.readModels.waitFor(position);
}

beforeAll(async () => {
  service = await runService();
  community = await service.community();
  brand = await service.brand();
  space = await service.space(community, {
    week: ['closed', ...Array.from({ length: 6 }, () => USUAL)],
    durationHours: 1,
  });
  const id = { spaceId: spaceId(space), communityId: communityId(community.id) };
  const range = { spaceIds: [id.spaceId], from: CLOSED, to: CLOSED, communityId: id.communityId };
  const added: DomainEvent = { type: 'ClosureAdded', data: { ...closure, ...range, title: TITLE } };
  await append(streamOf.venue_closure(closure.closureId), added);
  const closed: DomainEvent = { type: 'TimeClosed', data: { ...closure, ...id, date: CLOSED, title: TITLE } };
  await append(streamOf.spaceDay(space, CLOSED), closed);
  const hours = { windowStart: 20, windowEnd: 22 };
  await append(streamOf.space(space), { type: 'SpecialHoursSet', data: { ...id, date: SPECIAL, hours } }, 0);
});
afterAll(() => service.stop());

const USUAL = { windowStart: 12, windowEnd: 17 };
const available = async (date: string) => {
  const answer = await service.get(`/spaces/${space}/availability?date=${date}`, { key: brand.key });
  const { windowStart, windowEnd, timeSlots } = answer.json();
  const open = timeSlots.filter(({ isAvailable }: { isAvailable: boolean }) => isAvailable);
  return [windowStart, windowEnd, open.map(({ hour }: { hour: number }) => hour)];
};
const request = (startTime: string, startHour: number) =>
  service.post('/bookings', { key: brand.key, body: { spaceId: space, startTime, startHour } });

test('closed hours, a closed weekday and special hours are neither offered nor booked against', async () => {
  expect(await available(CLOSED)).toEqual([12, 17, [12, 13]]);
  // A Monday.
  expect(await available('2026-12-14')).toEqual([9, 22, []]);
  expect(await available(SPECIAL)).toEqual([20, 22, [20, 21]]);
  const { openDays } = service.core.queries;
  const search = { account: brand.account, from: CLOSED, to: '2026-12-14' as PlainDate, limit: 9 };
  const found = await openDays(search);
  expect(isRefusal(found) ? found : found.days.map(({ date, openHours }) => [date, openHours])).toEqual([
    [CLOSED, [12, 13]],
    ['2026-12-11', [12, 13, 14, 15, 16]],
    ['2026-12-12', [12, 13, 14, 15, 16]],
    [SPECIAL, [20, 21]],
  ]);
  const evening = await openDays({ ...search, startHour: 20 });
  expect(isRefusal(evening) ? evening : evening.days.map(({ date }) => date)).toEqual([SPECIAL]);

  for (const [date, hour] of [
    [CLOSED, 14],
    ['2026-12-14', 12],
    [SPECIAL, 12],
  ] as const)
    expect((await request(date, hour)).json(), date).toMatchObject({ error: 'SlotUnavailable' });
  expect((await request(CLOSED, 14)).statusCode).toBe(422);
  expect([(await request(CLOSED, 13)).statusCode, (await request(SPECIAL, 20)).statusCode]).toEqual([201, 201]);
  expect(await available(CLOSED)).toEqual([12, 17, [12]]);
});

test('an entity tag changes when hours are closed and reopened', async () => {
  const date = '2026-12-17' as PlainDate;
  const id = { spaceId: spaceId(space), communityId: communityId(community.id), date };
  const tag = async () => {
    const answer = await service.get(`/spaces/${space}/availability?date=${date}`, { key: brand.key });
    return answer.headers.etag;
  };
  const open = await tag();
  await append(streamOf.spaceDay(space, date), { type: 'TimeClosed', data: { ...closure, ...id } });
  expect(await tag()).not.toBe(open);
  await append(
    streamOf.spaceDay(space, date),
    { type: 'TimeReopened', data: { closureId: closure.closureId, ...id } },
    0,
  );
  expect(await tag()).toBe(open);
});

test('the history has the closure, the audit also its days, and forgetting its author erases the title everywhere', async () => {
  const history = async () => {
    const page = await service.core.queries.accountHistory.page(community.account, { topic: 'spaces', limit: 9 });
    return page.changes.map(({ event }) => event);
  };
  expect((await history()).map(({ type }) => type)).toEqual(['SpecialHoursSet', 'ClosureAdded', 'SpaceAdded']);
  expect(await history()).toMatchObject([{}, { data: { title: TITLE } }, {}]);
  useDataDir(service.config.dataDir);
  const audit = () =>
    json('audit', '--community', String(community.id), '--kind', 'ClosureAdded,TimeClosed,SpecialHoursSet');
  expect(await audit()).toMatchObject([
    { event: 'ClosureAdded', of: { kind: 'closure', id: 'clo_1' }, changes: { title: { to: TITLE } } },
    { event: 'TimeClosed', changes: { date: { to: CLOSED }, hours: { to: '14:00–24:00' }, title: { to: TITLE } } },
    { event: 'SpecialHoursSet', changes: { specialHours: { to: '20:00–22:00' } } },
    { event: 'TimeClosed' },
  ]);
  expect(await json('data', '--user', 'user-7')).toMatchObject({
    events: [
      { type: 'ClosureAdded', data: { title: TITLE } },
      { type: 'TimeClosed', data: { title: TITLE } },
    ],
  });
  const files = readdirSync(service.config.dataDir, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of files.filter((each) => each.isFile()))
    expect(readFileSync(join(parentPath, name), 'latin1').includes(TITLE), name).toBe(false);

  await service.core.commands.personalData.forget(AUTHOR, CONTEXT);
  expect(await history()).toMatchObject([{}, { data: { title: 'erased' } }, {}]);
});
