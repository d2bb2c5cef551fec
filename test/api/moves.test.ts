import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { ALL_PERMISSIONS, Permission } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let house: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let hall: number;
let studio: number;

beforeAll(async () => {
  service = await runService();
  house = await service.community();
  brand = await service.brand('Acme');
  hall = await service.space(house);
  studio = await service.space(house, { name: 'Studio' });
});
afterAll(() => service.stop());

let days = 9;
const nextDay = () => {
  days += 1;
  return `2026-12-${days}`;
};

async function requested(): Promise<{ id: number; date: string }> {
  const date = nextDay();
  const answer = await service.post('/bookings', {
    key: brand.key,
    body: { spaceId: hall, startTime: date, startHour: 10 },
  });
  return { id: answer.json().id, date };
}
const move = (id: number, body: object, key = brand.key) => service.post(`/bookings/${id}/move`, { key, body });
const codeOf = ({ statusCode, ...answer }: Awaited<ReturnType<typeof move>>) => [statusCode, answer.json().error];

test('a brand asks, and the community agrees by asking for the same', async () => {
  const { id, date } = await requested();
  const startTime = nextDay();
  const asked = await move(id, { spaceId: studio, startTime, startHour: 12 });
  expect([asked.statusCode, asked.json()]).toMatchObject([
    200,
    {
      id,
      spaceId: hall,
      date,
      status: 'Pending',
      move: { askedBy: 'Brand', spaceId: studio, spaceName: 'Studio', date: startTime, startHour: 12 },
    },
  ]);
  expect((await move(id, { spaceId: studio, startTime, startHour: 12 })).json()).toEqual(asked.json());
  expect((await service.get('/bookings', { key: house.key })).json().at(-1)).toMatchObject({ id, move: {} });
  const agreed = await move(id, { spaceId: studio, startTime, startHour: 12 }, house.key);
  expect(agreed.json()).toMatchObject({ id, spaceId: studio, date: startTime, startHour: 12, status: 'Approved' });
  expect(agreed.json()).not.toHaveProperty('move');
});

test('a community proposes another room for its price, and the brand takes it for that price only', async () => {
  const gallery = await service.space(house, { name: 'Gallery', eventFee: cents(90_000) });
  const { id } = await requested();
  const to = { spaceId: gallery, startTime: nextDay() };
  const proposed = await move(id, { ...to, price: 'new' }, house.key);
  const { totalPrice, move: waiting } = proposed.json();
  expect(waiting.totalPrice).toBeGreaterThan(totalPrice);
  expect(codeOf(await move(id, to))).toEqual([422, 'BookingNotAllowed']);
  expect(codeOf(await move(id, { ...to, price: 'free' }))).toEqual([400, 'ValidationError']);
  const taken = await move(id, { ...to, price: 'new' });
  expect(taken.json()).toMatchObject({ status: 'Approved', spaceId: gallery, totalPrice: waiting.totalPrice });
  expect(codeOf(await move(id, { spaceId: hall, price: 'new' }, house.key))).toEqual([422, 'BookingNotAllowed']);
  const history = await service.get(`/bookings/${id}/history`, { key: brand.key });
  expect(history.body).toContain(`"charge":{"to":${waiting.totalPrice}}`);
});

test('each kind of wrong move has its code', async () => {
  const { id, date } = await requested();
  const other = await service.brand('Other');
  expect(codeOf(await move(id, { startHour: 24 }))).toEqual([400, 'ValidationError']);
  expect(codeOf(await move(id, {}))).toEqual([422, 'BookingNotAllowed']);
  expect(codeOf(await move(id, { startTime: '2026-11-30' }))).toEqual([422, 'BookingNotAllowed']);
  expect(codeOf(await move(id, { startHour: 3 }))).toEqual([422, 'SlotUnavailable']);
  expect(codeOf(await move(id, { spaceId: 99 }))).toEqual([404, 'ResourceNotFound']);
  expect(codeOf(await move(id, { startHour: 12 }, other.key))).toEqual([404, 'ResourceNotFound']);
  expect(codeOf(await move(999, { startHour: 12 }))).toEqual([404, 'ResourceNotFound']);
  const reading = await service.key(brand.account, ALL_PERMISSIONS - Permission.WriteBookings);
  expect(codeOf(await move(id, { startHour: 12 }, reading))).toEqual([403, 'InsufficientPermissions']);
  await move(id, { startHour: 12 });
  expect(codeOf(await move(id, { startHour: 14 }, house.key))).toEqual([422, 'BookingNotAllowed']);
  const by = { kind: 'Brand', id: brandId(brand.id) } as const;
  accepted(await service.core.commands.bookings.cancel({ bookingId: id, by }, CONTEXT));
  expect(codeOf(await move(id, { startHour: 16 }))).toEqual([422, 'BookingNotAllowed']);
  expect((await service.get(`/bookings/${id}`, { key: brand.key })).json()).toMatchObject({ date, startHour: 10 });
});

test('a booking of a customer moves at once, and repeating the request with its key finds it', async () => {
  const { commands } = service.core;
  const owner = communityId(house.id);
  const customer = accepted(await commands.customers.add({ communityId: owner, name: 'Choir' }, CONTEXT));
  const details = { spaceId: spaceId(hall), date: nextDay() as PlainDate, startHour: 10 };
  const entered = { enteredBy: owner, brandId: customer.brandId, details, entry: {}, idempotencyKey: 'form-1' };
  const { bookingId } = accepted(await commands.bookings.enter(entered, CONTEXT));
  const startTime = nextDay();
  expect((await move(bookingId, { startTime }, house.key)).json()).toMatchObject({
    date: startTime,
    status: 'Approved',
  });
  expect(accepted(await commands.bookings.enter(entered, CONTEXT)).bookingId).toBe(bookingId);
  const answer = await service.post('/bookings', {
    key: brand.key,
    body: { spaceId: hall, startTime: details.date, startHour: 10 },
  });
  expect(answer.statusCode).toBe(201);
});
