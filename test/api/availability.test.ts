import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NOON, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let space: number;

beforeAll(async () => {
  service = await runService();
  community = await service.community();
  brand = await service.brand();
  space = await service.space(community);
});
afterAll(() => service.stop());

const availability = (id: number | string, query: string, key = brand.key) =>
  service.get(`/spaces/${id}/availability${query}`, { key });

test('returns every field of AvailabilityResponse', async () => {
  const answer = await availability(space, '?date=2026-12-10');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(answer.json()).toMatchObject({
    spaceId: space,
    spaceName: 'Great Hall',
    date: '2026-12-10',
    windowStart: 9,
    windowEnd: 22,
    durationHours: 4,
  });
  const { timeSlots } = answer.json();
  expect(timeSlots).toHaveLength(13);
  expect(timeSlots[0]).toEqual({ hour: 9, label: '9:00 AM', isAvailable: true });
  expect(timeSlots.at(-1)).toEqual({ hour: 21, label: '9:00 PM', isAvailable: true, usageHours: 1 });
});

test('shows a booking as soon as it is made', async () => {
  const booked = { spaceId: space, startTime: '2026-12-11', startHour: 12 };
  await service.post('/bookings', { key: brand.key, body: booked });
  const { timeSlots } = (await availability(space, '?date=2026-12-11')).json();
  const open = timeSlots.filter((slot: { isAvailable: boolean }) => slot.isAvailable);
  expect(open.map((slot: { hour: number }) => slot.hour)).toEqual([16, 17, 18, 19, 20, 21]);
});

test('two brands cannot hold the same time in the night on which the clocks go forward', async () => {
  const hall = await service.space(community, { windowStart: 0, windowEnd: 23, durationHours: 1.5 });
  const second = await service.brand('Second');
  const book = (startHour: number, { key } = brand) =>
    service.post('/bookings', { key, body: { spaceId: hall, startTime: '2027-03-28', startHour } });
  expect((await book(2)).json().error).toBe('SlotUnavailable');
  const first = await book(1);
  // It ends at 3:30. `endHour` is the sum that the specification gives.
  expect([first.statusCode, first.json().endHour]).toEqual([201, 3]);
  expect(first.json().usageHours).toBeUndefined();
  expect((await book(3, second)).json()).toEqual({
    error: 'SlotUnavailable',
    details: '3:00 on 2027-03-28 overlaps another booking of this space.',
  });
  const { timeSlots } = (await availability(hall, '?date=2027-03-28')).json();
  const open = timeSlots.flatMap((slot: { hour: number; isAvailable: boolean }) => (slot.isAvailable ? slot.hour : []));
  expect(open.slice(0, 2)).toEqual([4, 5]);
  expect((await book(4, second)).statusCode).toBe(201);
});

test('a date just over five years ahead has no open slot until a day later', async () => {
  const far = (etag = '') =>
    service.get(`/spaces/${space}/availability?date=2031-12-02`, {
      key: brand.key,
      headers: { 'if-none-match': etag },
    });
  const open = ({ timeSlots }: { timeSlots: readonly { isAvailable: boolean }[] }) =>
    timeSlots.filter(({ isAvailable }) => isAvailable).length;
  const before = await far();
  expect([before.statusCode, open(before.json())]).toEqual([200, 0]);

  service.time.now += 24 * 3_600_000;
  const after = await far(String(before.headers.etag));
  service.time.now = NOON;
  expect([after.statusCode, open(after.json())]).toEqual([200, 13]);
});

describe('invalid input is a 400 that names the field', () => {
  test.each([
    ['no date', '', /date/],
    ['an impossible date', '?date=2026-02-30', /date/],
    ['another format', '?date=10.12.2026', /date/],
    ['a date and time', '?date=2026-12-10T10:00:00Z', /date/],
    ['a past date', '?date=2026-11-30', /date must be today \(2026-12-01 in Europe\/Berlin\) or later/],
    ['two dates', '?date=2026-12-10&date=2026-12-11', /date/],
  ])('%s', async (_, query, details) => {
    const answer = await availability(space, query);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ error: 'ValidationError', details: expect.stringMatching(details) });
  });

  test.each(['abc', '1.5', '-1', '0x1', '1e0', '1.0', '%201', '+1', '01', '99999999999999999999'])(
    'space %s',
    async (id) => {
      const answer = await availability(id, '?date=2026-12-10');
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ error: 'ValidationError', details: expect.stringMatching(/spaceId/) });
    },
  );
});

test('today is the date in the time zone of the community', async () => {
  const auckland = await service.community('Pacific/Auckland', 'South');
  const far = await service.space(auckland);
  // Noon UTC on 1 December is 01:00 on 2 December in Auckland.
  expect((await availability(far, '?date=2026-12-01')).statusCode).toBe(400);
  expect((await availability(far, '?date=2026-12-02')).statusCode).toBe(200);
});

test('an unknown space and a space of another community get the same 404', async () => {
  const stranger = await service.community('America/New_York', 'Elsewhere');
  const theirs = await availability(space, '?date=2026-12-10', stranger.key);
  const missing = await availability(999, '?date=2026-12-10');
  expect([theirs.statusCode, missing.statusCode]).toEqual([404, 404]);
  expect(theirs.json().error).toBe('ResourceNotFound');
  expect((await availability(space, '?date=2026-12-10', community.key)).statusCode).toBe(200);
});

test('a closed space has no available slot', async () => {
  const closed = await service.space(community);
  await service.core.commands.catalogue.closeSpace(closed, {
    actor: { kind: 'operator', id: 't' },
    correlationId: 't',
  });
  const { timeSlots } = (await availability(closed, '?date=2026-12-10')).json();
  expect(timeSlots).toHaveLength(13);
  expect(timeSlots.some((slot: { isAvailable: boolean }) => slot.isAvailable)).toBe(false);
});
