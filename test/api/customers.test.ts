import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL_PERMISSIONS, Permission } from '../../src/domain/permissions.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let house: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let hall: number;

beforeAll(async () => {
  service = await runService();
  house = await service.community();
  brand = await service.brand('Acme');
  hall = await service.space(house);
});
afterAll(() => service.stop());

const add = async (body: object, key = house.key) => service.post('/customers', { key, body });
const listed = async (query = '', key = house.key): Promise<{ name: string }[]> =>
  (await service.get(`/customers${query}`, { key })).json();

test('a community adds customers and reads them by name, and no other account sees them', async () => {
  const choir = { name: 'Chœur Élan', contact: 'Ms. Abel', note: 'pays cash', discountPercent: 10 };
  const added = await add({ ...choir, fees: [{ spaceId: hall, eventFee: 12.5 }] });
  expect([added.statusCode, added.json()]).toEqual([
    201,
    {
      ...choir,
      id: expect.any(Number),
      fees: [{ spaceId: hall, eventFee: 12.5 }],
      isKept: true,
      standing: 'letIn',
      booked: 0,
      cancelled: 0,
      paid: 0,
    },
  ]);
  await add({ name: 'Band' });
  expect((await listed()).map(({ name }) => name)).toEqual(['Band', 'Chœur Élan']);
  expect(await listed('?q=choeur')).toEqual([added.json()]);
  expect(await listed('?q=nothing')).toEqual([]);
  const other = await service.community();
  expect(await listed('', other.key)).toEqual([]);
  const ofBrand = await service.get('/customers', { key: brand.key });
  expect([ofBrand.statusCode, ofBrand.json().error]).toEqual([403, 'ScopeViolation']);
  const without = await service.key(house.account, ALL_PERMISSIONS - Permission.Customers);
  expect((await service.get('/customers', { key: without })).json().error).toBe('InsufficientPermissions');
});

test('a brand whose request was approved is a customer, with what it paid, cancelled and when it last booked', async () => {
  const ids: number[] = [];
  for (const startTime of ['2026-12-10', '2026-12-12', '2026-12-14']) {
    const body = { spaceId: hall, startTime, startHour: 10 };
    ids.push((await service.post('/bookings', { key: brand.key, body })).json().id);
  }
  expect(await listed('?q=acme')).toEqual([]);
  const by = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
  const { bookings } = service.core.commands;
  for (const bookingId of ids.slice(0, 2)) await bookings.approve({ bookingId, communityId: house.id as never }, by);
  await bookings.cancel({ bookingId: ids[1] ?? 0, by: brand.account as never }, by);
  const [price] = (await service.get('/bookings', { key: brand.key })).json();
  expect(await listed('?q=acme')).toMatchObject([
    { name: 'Acme', isKept: false, booked: 2, cancelled: 1, paid: price.totalPrice, lastDate: '2026-12-12' },
  ]);
});

test.each([
  [{}, 'name'],
  [{ name: ' ' }, 'name'],
  [{ name: 'a'.repeat(201) }, 'name'],
  [{ name: 'band' }, 'another customer'],
  [{ name: 'X', discount: 10 }, 'The field discount is unknown: this path takes name,'],
  [{ name: 'X', discountPercent: 0 }, 'discountPercent'],
  [{ name: 'X', discountPercent: 10.5 }, 'discountPercent'],
  [{ name: 'X', discountPercent: 101 }, 'discountPercent'],
  [{ name: 'X', fees: [{ spaceId: 999, eventFee: 1 }] }, 'which the community does not have'],
  [{ name: 'X', fees: [{ spaceId: 1, eventFee: -1 }] }, 'eventFee'],
  [
    {
      name: 'X',
      fees: [
        { spaceId: 1, eventFee: 1 },
        { spaceId: 1, eventFee: 2 },
      ],
    },
    'fees',
  ],
  [{ name: 'X', fees: [{ spaceId: 1, eventFee: Number(`1${'0'.repeat(300)}`) }] }, 'fees'],
  [{ name: 'X', contact: 'a'.repeat(501) }, 'contact'],
])('%o is refused with a sentence, and nothing is stored', async (body, named) => {
  const before = await listed();
  const answer = await add(body);
  expect(answer.json()).toEqual({ error: 'ValidationError', details: expect.stringContaining(named) });
  expect(answer.statusCode).toBe(400);
  expect(await listed()).toEqual(before);
});
