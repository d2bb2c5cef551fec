import { randomUUIDv7 } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import type { DomainEvent, SpaceTerms } from '../../src/domain/events.ts';
import { brandId, cents, closureId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { subjectOfUser } from '../../src/domain/personal-text.ts';
import type { SpecialChanges } from '../../src/domain/space.ts';
import { streamOf } from '../../src/domain/streams.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { whyNoHours } from '../../src/queries/availability.ts';
import { accepted } from '../accepted.ts';
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
  await append(streamOf.space(space), { type: 'SpaceChanged', data: { ...id, dates: [{ date: SPECIAL, hours }] } }, 0);
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
  expect((await history()).map(({ type }) => type)).toEqual(['SpaceChanged', 'ClosureAdded', 'SpaceAdded']);
  expect(await history()).toMatchObject([{}, { data: { title: TITLE } }, {}]);
  useDataDir(service.config.dataDir);
  const audit = () =>
    json('audit', '--community', String(community.id), '--kind', 'ClosureAdded,TimeClosed,SpaceChanged');
  expect(await audit()).toMatchObject([
    { event: 'ClosureAdded', of: { kind: 'closure', id: 'clo_1' }, changes: { title: { to: TITLE } } },
    { event: 'TimeClosed', changes: { date: { to: CLOSED }, hours: { to: '14:00–24:00' }, title: { to: TITLE } } },
    { event: 'SpaceChanged', changes: { specialHours: { to: `${SPECIAL} 20:00–22:00` } } },
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

describe('hours and rules that a community sets', () => {
  const HOUR_MS = 3_600_000;
  let hall: number;
  const set = async (terms: Partial<SpaceTerms>, special: SpecialChanges = {}) =>
    accepted(await service.core.commands.catalogue.changeSpace({ spaceId: hall, terms, special }, CONTEXT));
  const day = (date: string) => service.get(`/spaces/${hall}/availability?date=${date}`, { key: brand.key });
  const openHours = async (date: string) =>
    (await day(date))
      .json()
      .timeSlots.flatMap((slot: { hour: number; isAvailable: boolean }) => (slot.isAvailable ? [slot.hour] : []));
  const book = (startTime: string, startHour: number) =>
    service.post('/bookings', { key: brand.key, body: { spaceId: hall, startTime, startHour } });

  beforeAll(async () => {
    hall = await service.space(community, { name: 'Hall', durationHours: 2 });
  });

  test('prices and hours by day are in GET /spaces and in what a booking costs; special hours leave it the day after', async () => {
    const usual = { windowStart: 9, windowEnd: 22 };
    const week = [...Array.from({ length: 5 }, () => usual), { ...usual, eventFee: cents(60_000) }, 'closed' as const];
    await set(
      { week, noticeHours: 24, horizonDays: 90, cancelHours: 48 },
      { [SPECIAL]: { windowStart: 10, windowEnd: 14 } },
    );
    const space = async () => {
      const answer = await service.get(`/spaces/${hall}`, { key: brand.key });
      return { tag: answer.headers.etag, body: answer.json() };
    };
    const before = await space();
    expect(before.body).toMatchObject({
      totalPrice: 230,
      specialHours: [{ date: SPECIAL, windowStart: 10, windowEnd: 14, totalPrice: 230 }],
      noticeHours: 24,
      horizonDays: 90,
      cancelHours: 48,
    });
    expect(before.body.week.slice(4)).toEqual([
      { weekday: 'Friday', open: true, ...usual, totalPrice: 230 },
      { weekday: 'Saturday', open: true, ...usual, totalPrice: 690 },
      { weekday: 'Sunday', open: false },
    ]);
    // A Saturday, and a Sunday with special hours.
    expect((await book('2026-12-12', 9)).json().totalPrice).toBe(690);
    expect((await book(SPECIAL, 10)).json().totalPrice).toBe(230);
    service.time.now = NOON + 13 * 24 * HOUR_MS;
    const after = await space();
    expect([after.body.specialHours, after.tag === before.tag]).toEqual([undefined, false]);
    service.time.now = NOON;
    await set({ week: [], noticeHours: 0, horizonDays: 1_825, cancelHours: 0 }, { [SPECIAL]: 'none' });
  });

  test('the entity tag of a day follows notice and horizon', async () => {
    const date = '2026-12-03';
    const tags = async () => {
      const answer = await day(date);
      const { etag } = answer.headers;
      const repeated = await service.get(`/spaces/${hall}/availability?date=${date}`, {
        key: brand.key,
        headers: { 'if-none-match': String(etag) },
      });
      expect(repeated.statusCode).toBe(304);
      return etag;
    };
    // In Berlin it is one o'clock in the afternoon on 1 December.
    await set({ noticeHours: 48 });
    expect(await openHours(date)).toEqual([14, 15, 16, 17, 18, 19, 20, 21]);
    const first = await tags();
    service.time.now = NOON + HOUR_MS - 1;
    expect(await tags()).toBe(first);
    service.time.now = NOON + HOUR_MS;
    expect([await openHours(date), (await tags()) === first]).toEqual([[15, 16, 17, 18, 19, 20, 21], false]);
    service.time.now = NOON;
    const refused = (await book(date, 13)).json();
    expect(refused).toMatchObject({
      error: 'BookingNotAllowed',
      details: expect.stringContaining('2026-12-03T12:00:00'),
    });

    await set({ noticeHours: 0, horizonDays: 1 });
    expect(await openHours(date)).toEqual([]);
    const tooFar = await tags();
    service.time.now = NOON + 24 * HOUR_MS;
    expect([(await openHours(date)).length, (await tags()) === tooFar]).toEqual([13, false]);
    service.time.now = NOON;
    expect((await book(date, 13)).json()).toEqual({
      error: 'BookingNotAllowed',
      details: '2026-12-03 is too far ahead: bookings are taken for the next 1 day.',
    });
    await set({ horizonDays: 1_825 });
  });

  test('a day without open hours says why', async () => {
    const why = async (date: string) => {
      const { account } = brand;
      const found = await service.core.queries.availability({ account, spaceId: hall, date: date as PlainDate });
      return isRefusal(found) ? found : whyNoHours(found);
    };
    const noDays = async (from: string, to = from) => {
      const range = { from: from as PlainDate, to: to as PlainDate, spaceIds: [hall], limit: 9 };
      const found = await service.core.queries.openDays({ account: brand.account, ...range });
      return isRefusal(found) ? found : found.why;
    };
    // Monday 14 December is closed, but special hours open the 21st.
    const open = { windowStart: 9, windowEnd: 22 };
    const week = ['closed' as const, ...Array.from({ length: 6 }, () => open)];
    await set({ week, noticeHours: 72 }, { ['2026-12-21' as PlainDate]: open });
    expect(await Promise.all(['2026-12-14', '2026-12-21', '2026-12-03'].map(why))).toEqual([
      'ClosedDays',
      undefined,
      'TooSoon',
    ]);
    expect(await Promise.all([noDays('2026-12-14'), noDays('2026-12-21'), noDays('2026-12-02', '2026-12-03')])).toEqual(
      ['ClosedDays', undefined, 'TooSoon'],
    );
    await set({ week: [], noticeHours: 0 }, { ['2026-12-21' as PlainDate]: 'none' });
  });

  test('notice, the gap and the deadline are judged by hours that pass on days of 23 and 25 hours', async () => {
    // The clocks of Berlin go forward on 28 March 2027, and back on 31 October 2027.
    const spring = '2027-03-28';
    const autumn = '2027-10-31';
    await set({
      noticeHours: 12,
      gapHours: 1,
      cancelHours: 12,
      week: Array.from({ length: 7 }, () => ({ windowStart: 0, windowEnd: 12 })),
    });
    service.time.now = Date.parse('2027-03-27T20:00:00Z');
    // 20:00 UTC and 12 hours are 08:00 UTC: 10:00 in summer time, which has begun. The hour from 2 to 3 does not exist.
    expect(await openHours(spring)).toEqual([11]);
    service.time.now = Date.parse('2027-03-27T11:30:00Z');
    expect(await openHours(spring)).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    const early = (await book(spring, 3)).json();
    // It ends at five; with an hour between bookings the next begins at six.
    expect(await openHours(spring)).toEqual([6, 7, 8, 9, 10, 11]);
    // The event begins at 01:00 UTC, so the deadline is at 13:00 UTC the day before.
    const cancel = () =>
      service.core.commands.bookings.cancel(
        { bookingId: early.id, by: { kind: 'Brand', id: brandId(brand.id) } },
        CONTEXT,
      );
    service.time.now = Date.parse('2027-03-27T13:00:00Z');
    expect(await cancel()).toMatchObject({
      refused: 'BookingNotAllowed',
      details: expect.stringContaining('2027-03-27T13:00:00'),
    });
    service.time.now -= 1;
    accepted(await cancel());

    service.time.now = Date.parse('2027-10-30T20:00:00Z');
    // 08:00 UTC is 09:00 in winter time.
    expect(await openHours(autumn)).toEqual([10, 11]);
    service.time.now = NOON;
    await set({ noticeHours: 0, gapHours: 0, cancelHours: 0, week: [] });
  });
});
