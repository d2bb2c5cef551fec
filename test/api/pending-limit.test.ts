import { afterAll, beforeAll, expect, test } from 'vitest';
import { daysLater } from '../../src/domain/calendar.ts';
import { communityId, type PlainDate } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

const LIMIT = 3;
let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let space: number;

beforeAll(async () => {
  service = await runService({ PENDING_LIMIT: String(LIMIT) });
  community = await service.community();
  space = await service.space(community);
});
afterAll(() => service.stop());

type Brand = Awaited<ReturnType<RunningService['brand']>>;
let days = 10;
/** A day without requests. */
const freshDay = () => daysLater('2026-12-01' as PlainDate, days++);
const book = ({ key }: Brand, startTime = freshDay(), headers = {}, at = space) =>
  service.post('/bookings', { key, body: { spaceId: at, startTime, startHour: 10 }, headers });
const idOf = async (answer: ReturnType<typeof book>): Promise<number> => (await answer).json().id;

test('concurrent requests are accepted up to the limit, and one more is 422 BookingNotAllowed', async () => {
  const brand = await service.brand();
  const answers = await Promise.all(Array.from({ length: 8 }, () => book(brand)));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 201, 201, 422, 422, 422, 422, 422]);
  expect((await book(brand)).json()).toEqual({
    error: 'BookingNotAllowed',
    details: 'At most 3 requests of a brand may wait for an answer at once. Wait for an answer, or cancel a request.',
  });
  expect((await book(await service.brand('Other'))).statusCode).toBe(201);
});

test('any decision on a request releases its place in the quota', async () => {
  const brand = await service.brand();
  const { bookings } = service.core.commands;
  const answers: readonly ((id: number) => Promise<unknown>)[] = [
    (bookingId) => bookings.approve({ bookingId, communityId: communityId(community.id) }, CONTEXT),
    (bookingId) => bookings.cancel({ bookingId, by: community.account }, CONTEXT),
    (bookingId) => bookings.cancel({ bookingId, by: brand.account }, CONTEXT),
    async (bookingId) => {
      service.time.now += 80 * 3_600_000;
      const expired = await bookings.expire(bookingId, CONTEXT);
      service.time.now = NOON;
      return expired;
    },
  ];
  const ids = [await idOf(book(brand)), await idOf(book(brand)), await idOf(book(brand))];
  for (const answer of answers) {
    expect((await book(brand)).statusCode).toBe(422);
    expect(accepted((await answer(ids.shift() ?? 0)) as object)).toMatchObject({ events: [{}] });
    const next = await book(brand);
    expect(next.statusCode).toBe(201);
    ids.push(next.json().id);
  }
});

test('a repeat with the same idempotency key is not counted, whether in progress, pending or decided', async () => {
  const brand = await service.brand();
  const [first, second] = [await idOf(book(brand)), await idOf(book(brand))];
  const last = freshDay();
  const headers = { 'idempotency-key': 'last' };
  const burst = await Promise.all(Array.from({ length: 10 }, () => book(brand, last, headers)));
  expect(new Set(burst.map(({ statusCode }) => statusCode))).toEqual(new Set([201]));
  const id = burst[0]?.json().id;
  expect(new Set(burst.map((answer) => answer.json().id))).toEqual(new Set([id]));
  expect(await idOf(book(brand, last, headers))).toBe(id);

  accepted(await service.core.commands.bookings.cancel({ bookingId: id, by: brand.account }, CONTEXT));
  expect((await book(brand)).statusCode).toBe(201);
  expect((await book(brand)).statusCode).toBe(422);
  expect(await idOf(book(brand, last, headers))).toBe(id);
  expect([first, second]).not.toContain(id);
});

test('a refused request is not counted', async () => {
  const [brand, other] = [await service.brand(), await service.brand('Other')];
  const taken = freshDay();
  await book(other, taken);
  for (let i = 0; i < 5; i += 1) expect((await book(brand, taken)).json().error).toBe('SlotUnavailable');
  for (let i = 0; i < LIMIT; i += 1) expect((await book(brand)).statusCode).toBe(201);
});

test('a failed request that may still be appended counts until the quota has checked the log', async () => {
  const brand = await service.brand();
  const { events } = service.core;
  const { append } = events;
  events.append = () => Promise.reject(new Error('The process died'));
  expect((await book(brand)).statusCode).toBe(500);
  events.append = append;
  const answers = [await book(brand), await book(brand), await book(brand)];
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 422]);
});
