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

// A booking itself has a `date`: a move that ignored it would go to another hour of the same day.
test('a move with a field that it does not take moves nothing', async () => {
  const { id, date } = await requested();
  const answer = await move(id, { date: nextDay(), startHour: 12 });
  expect([answer.statusCode, answer.json()]).toEqual([
    400,
    {
      error: 'ValidationError',
      details: 'The field date is unknown: this path takes spaceId, startTime, startHour, price, reason.',
    },
  ]);
  expect(codeOf(await move(id, { ['x'.repeat(200)]: 1 }))).toEqual([400, 'ValidationError']);
  const declined = await service.post(`/bookings/${id}/move/decline`, { key: house.key, body: { why: 'Taken' } });
  expect(codeOf(declined)).toEqual([400, 'ValidationError']);
  const { json } = await service.get(`/bookings/${id}`, { key: brand.key });
  expect(json()).toMatchObject({ date, startHour: 10 });
  expect(json()).not.toHaveProperty('move');
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

const decline = (id: number, body: object = {}, key = brand.key) =>
  service.post(`/bookings/${id}/move/decline`, { key, body });

test('the party that was asked declines a move, and the party that asked withdraws it', async () => {
  for (const [asking, ending] of [
    [brand, house],
    [brand, brand],
    [house, brand],
    [house, house],
  ] as const) {
    const { id, date } = await requested();
    await move(id, { startHour: 14 }, asking.key);
    const ended = await decline(id, { reason: 'The choir rehearses then.' }, ending.key);
    expect([ended.statusCode, ended.json()]).toMatchObject([200, { id, date, startHour: 10, status: 'Pending' }]);
    expect(ended.json()).not.toHaveProperty('move');
    expect(codeOf(await decline(id, {}, ending.key))).toEqual([422, 'BookingNotAllowed']);
    const history = (await service.get(`/bookings/${id}/history`, { key: asking.key })).json();
    expect(JSON.stringify(history.at(-1))).toContain('The choir rehearses then.');
    expect((await move(id, { startHour: 14 }, asking.key)).json()).toHaveProperty('move');
  }
});

test('each kind of wrong end of a move has its code, and the move goes on waiting', async () => {
  const { id } = await requested();
  const other = await service.brand('Third');
  const elsewhere = await service.community();
  expect(codeOf(await decline(id))).toEqual([422, 'BookingNotAllowed']);
  await move(id, { startHour: 14 });
  expect(codeOf(await decline(id, { reason: 'a'.repeat(501) }))).toEqual([400, 'ValidationError']);
  expect(codeOf(await decline(999))).toEqual([404, 'ResourceNotFound']);
  // A body has no other fields.
  for (const forged of [{ bookingId: id }, { by: brand.account }, { moveId: 'm1' }])
    expect(codeOf(await decline(id, forged, other.key))).toEqual([400, 'ValidationError']);
  const own = (
    await service.post('/bookings', {
      key: other.key,
      body: { spaceId: studio, startTime: nextDay(), startHour: 10 },
    })
  ).json().id;
  expect(codeOf(await decline(own, {}, other.key))).toEqual([422, 'BookingNotAllowed']);
  for (const { key } of [other, elsewhere])
    expect(codeOf(await decline(id, {}, key))).toEqual([404, 'ResourceNotFound']);
  const reading = await service.key(brand.account, ALL_PERMISSIONS - Permission.WriteBookings);
  expect(codeOf(await decline(id, {}, reading))).toEqual([403, 'InsufficientPermissions']);
  expect((await service.get(`/bookings/${id}`, { key: brand.key })).json()).toHaveProperty('move');
  const by = { kind: 'Brand', id: brandId(brand.id) } as const;
  accepted(await service.core.commands.bookings.cancel({ bookingId: id, by }, CONTEXT));
  expect(codeOf(await decline(id))).toEqual([422, 'BookingNotAllowed']);
});

test('of both parties that end or accept a move at once, one is told that it does not wait any more', async () => {
  for (const answered of [
    (id: number) => decline(id, {}, house.key),
    (id: number) => move(id, { startHour: 14 }, house.key),
  ]) {
    const { id } = await requested();
    await move(id, { startHour: 14 });
    const answers = await Promise.all([decline(id), answered(id)]);
    const isAsked = answers[0]?.statusCode === 200 && answers[1]?.statusCode === 200;
    const now = (await service.get(`/bookings/${id}`, { key: brand.key })).json();
    // A community that asks for the same after the brand has withdrawn it proposes it.
    if (isAsked) expect(now.move).toMatchObject({ askedBy: 'Community', startHour: 14 });
    else {
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 422]);
      expect(now).not.toHaveProperty('move');
      expect(now.startHour).toBe(now.status === 'Approved' ? 14 : 10);
    }
  }
});
