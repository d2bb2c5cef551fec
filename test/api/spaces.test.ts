import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Permission } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let harbour: Awaited<ReturnType<RunningService['community']>>;
let mill: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let hall: number;
let barn: number;
let cellar: number;

beforeAll(async () => {
  service = await runService();
  harbour = await service.community('Europe/Berlin', 'Harbour');
  mill = await service.community('America/New_York', 'Old Mill');
  brand = await service.brand();
  hall = await service.space(harbour);
  barn = await service.space(mill, { name: 'Barn', windowStart: 8, durationHours: 2.5, answerHours: 24 });
  cellar = await service.space(mill, { name: 'Cellar' });
  accepted(await service.core.commands.catalogue.closeSpace(cellar, CONTEXT));
});
afterAll(() => service.stop());

const idsIn = async (key: string): Promise<number[]> =>
  (await service.get('/spaces', { key })).json().map(({ id }: { id: number }) => id);
const errorOf = async (answer: ReturnType<RunningService['get']>) => {
  const { statusCode } = await answer;
  return [statusCode, (await answer).json().error];
};

describe('GET /spaces', () => {
  test('a brand gets every space that takes bookings, with its terms', async () => {
    const answer = await service.get('/spaces', { key: brand.key });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    const shared = { windowEnd: 22, totalPrice: 230, currency: 'USD', active: true };
    expect(answer.json()).toEqual([
      {
        ...shared,
        id: hall,
        name: 'Great Hall',
        communityId: harbour.id,
        communityName: 'Harbour',
        timeZone: 'Europe/Berlin',
        windowStart: 9,
        durationHours: 4,
        answerHours: 72,
      },
      {
        ...shared,
        id: barn,
        name: 'Barn',
        communityId: mill.id,
        communityName: 'Old Mill',
        timeZone: 'America/New_York',
        windowStart: 8,
        durationHours: 2.5,
        answerHours: 24,
      },
    ]);
  });

  test('a community gets its own spaces, including those that take no bookings', async () => {
    expect(await idsIn(harbour.key)).toEqual([hall]);
    expect(await idsIn(mill.key)).toEqual([barn, cellar]);
    const newcomer = await service.community('UTC', 'Newcomer');
    expect((await service.get('/spaces', { key: newcomer.key })).json()).toEqual([]);
  });

  test('is 304 until a space changes', async () => {
    const ask = (etag: unknown, key = mill.key) =>
      service.get('/spaces', { key, headers: { 'if-none-match': String(etag) } });
    const { etag } = (await ask('')).headers;
    expect((await ask(etag)).statusCode).toBe(304);
    expect((await ask(etag, brand.key)).statusCode).toBe(200);
    accepted(await service.core.commands.catalogue.openSpace(cellar, CONTEXT));
    const opened = await ask(etag);
    expect([opened.statusCode, opened.json().at(-1).active]).toEqual([200, true]);
    accepted(await service.core.commands.catalogue.closeSpace(cellar, CONTEXT));
    expect((await ask(opened.headers.etag)).json().at(-1).active).toBe(false);
  });
});

describe('GET /spaces/{spaceId}', () => {
  const one = (id: unknown, key = brand.key, headers = {}) => service.get(`/spaces/${id}`, { key, headers });

  test('equals the entry of the list, and is 304 until the space changes', async () => {
    const answer = await one(barn);
    const listed = (await service.get('/spaces', { key: brand.key })).json();
    expect([answer.statusCode, answer.json()]).toEqual([200, listed[1]]);
    const { etag } = answer.headers;
    expect((await one(barn, brand.key, { 'if-none-match': String(etag) })).statusCode).toBe(304);
    expect((await one(hall, brand.key, { 'if-none-match': String(etag) })).statusCode).toBe(200);
  });

  test('tells a brand that a space takes no bookings', async () => {
    expect((await one(cellar)).json()).toMatchObject({ name: 'Cellar', active: false });
  });

  test('a space of another community is 404', async () => {
    expect(await errorOf(one(barn, harbour.key))).toEqual([404, 'ResourceNotFound']);
    expect(await errorOf(one(4_711))).toEqual([404, 'ResourceNotFound']);
    expect((await one(barn, harbour.key)).json().details).toBe(`There is no space ${barn}.`);
  });

  test.each(['abc', '1.5', '-1', '0x1', '%201'])('%s is 400', async (id) => {
    expect(await errorOf(one(id))).toEqual([400, 'ValidationError']);
  });
});

test.each(['/spaces', '/spaces/1'])('%s needs ReadAvailability', async (url) => {
  expect(await errorOf(service.get(url))).toEqual([401, 'InvalidApiKey']);
  const key = await service.key(brand.account, 31 - Permission.ReadAvailability);
  expect(await errorOf(service.get(url, { key }))).toEqual([403, 'InsufficientPermissions']);
  const only = await service.key(brand.account, Permission.ReadAvailability);
  expect((await service.get(url, { key: only })).statusCode).toBe(200);
});
