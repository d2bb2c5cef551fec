import { afterAll, beforeAll, expect, test } from 'vitest';
import { communityId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

/** A command of many events is appended in slices, between which other accounts have their turn. */

const ROOMS = 100;
const DATES = 20;
const DAYS = ROOMS * DATES;
/** Bookings of another account that come between the first and the last day of a closed time. Each is asked for after the one before it. */
const AT_LEAST_BETWEEN = 10;

let service: RunningService;
let house: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let rooms: number[];
/** Of another community. */
let hall: number;

beforeAll(async () => {
  service = await runService();
  house = await service.community();
  const other = await service.community('Europe/Berlin', 'Union');
  brand = await service.brand();
  hall = await service.space(other, { durationHours: 1, windowStart: 0, windowEnd: 23 });
  rooms = [];
  for (let i = 0; i < ROOMS; i += 1) rooms.push(await service.space(house, { name: `Room ${i}` }));
});
afterAll(() => service.stop());

let booked = 0;

/** Books another space until `work` is over. Each booking is read right after its answer. */
async function bookUntil<R>(work: Promise<R>): Promise<R> {
  let isOver = false;
  const result = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const date = new Date(service.time.now + (1 + Math.floor(booked / 23)) * 86_400_000).toISOString().slice(0, 10);
    const body = { spaceId: hall, startTime: date, startHour: booked % 23 };
    booked += 1;
    const answer = await service.post('/bookings', { key: brand.key, body });
    // The clocks skip an hour of one night.
    if (answer.statusCode === 422) continue;
    expect(answer.statusCode).toBe(201);
    const { body: list } = await service.get(`/bookings?startDate=${date}&endDate=${date}`, { key: brand.key });
    expect(JSON.parse(list).map(({ id }: { id: number }) => id)).toContain(answer.json().id);
  }
  return result;
}

/** How many bookings are in the log between the first and the last of the days that were closed after a position. */
async function betweenDays(after: number): Promise<number> {
  const types = (await Array.fromAsync(service.core.events.readAll(), ({ type }) => type)).slice(after);
  const days = types.slice(types.indexOf('TimeClosed'), types.lastIndexOf('TimeClosed'));
  return days.filter((type) => type === 'BookingRequested').length;
}

const length = async () => (await Array.fromAsync(service.core.events.readAll())).length;

test('bookings of another account are answered between the days of the largest closed time, which its author reads at once', async () => {
  const range = { from: '2027-04-01', to: '2027-04-20', start: 0, until: 24, kind: 'Closure' } as const;
  const { closures } = service.core.commands;
  const owner = communityId(house.id);

  const before = await length();
  const added = accepted(
    await bookUntil(closures.add({ ...range, communityId: house.id, spaceIds: rooms, title: 'Floor' }, CONTEXT)),
  );
  expect(added).toMatchObject({ days: DAYS, skipped: [] });
  const stored = await service.core.queries.closures.get(owner, added.closureId);
  expect(stored).toMatchObject({ title: 'Floor', closedDays: DAYS, state: 'Done' });
  expect(await openSlots()).toEqual(rooms.map(() => 0));
  expect(await betweenDays(before)).toBeGreaterThanOrEqual(AT_LEAST_BETWEEN);

  const middle = await length();
  const name = { closureId: added.closureId, communityId: house.id };
  const changed = accepted(await bookUntil(closures.change({ ...name, start: 9, until: 11 }, CONTEXT)));
  expect(changed).toMatchObject({ days: DAYS, skipped: [] });
  expect(await service.core.queries.closures.get(owner, added.closureId)).toMatchObject({
    replacedBy: changed.closureId,
    state: 'Done',
  });
  expect((await openSlots()).every((open) => open > 0)).toBe(true);
  expect(await betweenDays(middle)).toBeGreaterThanOrEqual(AT_LEAST_BETWEEN);

  const last = { closureId: changed.closureId, communityId: house.id };
  expect(accepted(await bookUntil(closures.end(last, CONTEXT))).days).toBe(DAYS);
  expect(await service.core.queries.closures.list(owner, stored?.from ?? expect.fail())).toEqual([]);
}, 120_000);

/** How many start hours of each room can be booked on the last of its closed dates. */
const openSlots = () =>
  Promise.all(
    rooms.map(async (room) => {
      const path = `/spaces/${spaceId(room)}/availability?date=2027-04-20`;
      const slots: { isAvailable: boolean }[] = (await service.get(path, { key: brand.key })).json().timeSlots;
      return slots.filter(({ isAvailable }) => isAvailable).length;
    }),
  );
