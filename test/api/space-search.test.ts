import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpaceDescription } from '../../src/domain/description.ts';
import { cents, communityId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

/** The clock of the service is fixed at noon UTC on Tuesday, 1 December 2026. */

let service: RunningService;
let key: string;
let harbour: { readonly id: number; readonly key: string };
let hall: number;
let loft: number;

beforeAll(async () => {
  service = await runService();
  ({ key } = await service.brand());
  harbour = await service.community('Europe/Berlin', 'Harbour');
  const { catalogue } = service.core.commands;
  const coordinates = { latitude: 52.52, longitude: 13.405 };
  accepted(
    await catalogue.describeCommunity({ communityId: communityId(harbour.id), wanted: { coordinates } }, CONTEXT),
  );
  const add = async (name: string, fee: number, wanted: SpaceDescription) => {
    const id = await service.space(harbour, { name, eventFee: cents(fee), durationHours: 1 });
    accepted(await catalogue.describeSpace({ spaceId: spaceId(id), wanted }, CONTEXT));
    return id;
  };
  hall = await add('Hall', 100_00, { kind: 'Hall', seated: 200, amenities: ['Wifi', 'Piano'] });
  loft = await add('Loft', 300_00, { kind: 'Loft', seated: 40, amenities: ['Wifi'] });
});
afterAll(() => service.stop());

const found = async (query: string): Promise<readonly { readonly id: number }[]> => {
  const answer = await service.get(`/spaces?${query}`, { key });
  expect([query, answer.statusCode]).toEqual([query, 200]);
  return answer.json();
};
const idsOf = async (query: string) => (await found(query)).map(({ id }) => id);

test('GET /spaces with a filter finds spaces, the best fit first', async () => {
  expect(await idsOf('guests=40')).toEqual([loft, hall]);
  expect(await idsOf('guests=41')).toEqual([hall]);
  expect(await idsOf('guests=40&sort=price')).toEqual([hall, loft]);
  expect(await idsOf('amenity=Wifi&amenity=Piano')).toEqual([hall]);
  expect(await idsOf('amenity=Piano')).toEqual([hall]);
  expect(await idsOf('kind=Loft')).toEqual([loft]);
  expect(await idsOf('name=lof')).toEqual([loft]);
  expect(await idsOf('maxPrice=115')).toEqual([hall]);
  expect(await idsOf('maxPrice=114.99')).toEqual([]);
  expect(await idsOf(`communityId=${harbour.id}&limit=1&sort=price`)).toEqual([hall]);
  expect(await idsOf(`communityId=${harbour.id}&limit=1&sort=price&offset=1`)).toEqual([loft]);
});

test('a found space has the distance and the days on which it is free', async () => {
  const [only] = await found('near=52.39,13.065&within=30&date=2026-12-14&date=2026-12-12&hour=20&kind=Hall');
  const openHours = Array.from({ length: 13 }, (_, at) => 9 + at);
  expect(only).toMatchObject({
    id: hall,
    distance: 27.2,
    freeDays: [
      { date: '2026-12-12', openHours, totalPrice: 115 },
      { date: '2026-12-14', openHours, totalPrice: 115 },
    ],
  });
  const saturdays = await found('month=2026-12&weekday=Saturday&kind=Hall');
  expect(saturdays[0]).toMatchObject({
    freeDays: [{ date: '2026-12-05' }, { date: '2026-12-12' }, { date: '2026-12-19' }, { date: '2026-12-26' }],
  });
  expect(await idsOf('near=48,11')).toEqual([]);
});

test('GET /spaces without a filter is as before, by id and without anything that a search adds', async () => {
  const answer = await service.get('/spaces', { key });
  const spaces: readonly object[] = answer.json();
  expect(spaces).toMatchObject([{ id: hall }, { id: loft }]);
  for (const added of ['distance', 'rating', 'freeDays'])
    for (const space of spaces) expect(space).not.toHaveProperty(added);
});

test('a search has an entity tag, which changes with its results', async () => {
  const url = '/spaces?date=2026-12-20&kind=Hall';
  const first = await service.get(url, { key });
  const headers = { 'if-none-match': String(first.headers.etag) };
  expect((await service.get(url, { key, headers })).statusCode).toBe(304);
  const body = { spaceId: hall, startTime: '2026-12-20', startHour: 12 };
  expect((await service.post('/bookings', { key, body })).statusCode).toBe(201);
  const later = await service.get(url, { key, headers });
  expect(later.statusCode).toBe(200);
  expect(later.json()[0].freeDays[0].openHours).not.toContain(12);
});

test.each([
  ['guests=0', 'guests must be a whole number, 1 to 100000.'],
  ['guests=-1', 'guests must be a whole number, 1 to 100000.'],
  ['guests=1000000000', 'guests must be a whole number, 1 to 100000.'],
  ['guests=1e3', 'guests must be a whole number, 1 to 100000.'],
  ['guests=', 'guests must be a whole number, 1 to 100000.'],
  ['guests=1&guests=2', 'guests must be given only once.'],
  ['near=91,0', 'near must be a latitude of -90 to 90 and a longitude of -180 to 180, such as 52.52,13.40.'],
  ['near=,', 'near must be a latitude of -90 to 90 and a longitude of -180 to 180, such as 52.52,13.40.'],
  ['within=5', 'within can be given only with near.'],
  [Array.from({ length: 51 }, () => 'date=2027-01-01').join('&'), 'date must have at most 50 entries.'],
  ['date=2026-02-30', 'date.0 must be a date in the form YYYY-MM-DD.'],
  ['date=2026-11-29', 'date must be today or later.'],
  ['amenity=Helipad', /^amenity\.0 must be one of Wifi, /],
  ['kind=Castle', /^kind must be one of Hall, /],
  ['month=2027-13', 'month must be a month such as 2027-05.'],
  ['month=2026-11', 'month must not be over.'],
  ['weekday=Saturday', 'weekday can be given only with month.'],
  ['hour=24', 'hour must be a whole number, 0 to 23.'],
  ['sort=distance', 'sort can be distance only with near.'],
  ['maxPrice=-1', 'maxPrice must be >= 0.'],
  ['limit=501', 'limit must be a whole number, 1 to 500.'],
  [`name=${'x'.repeat(201)}`, 'name must have at most 200 characters.'],
  ['guest=40', /^The query parameter guest is unknown/],
])('GET /spaces?%s is refused', async (query, details) => {
  const answer = await service.get(`/spaces?${query}`, { key });
  const matching = typeof details === 'string' ? details : expect.stringMatching(details);
  expect([answer.statusCode, answer.json()]).toEqual([400, { error: 'ValidationError', details: matching }]);
});

test('a search for spaces of an unknown community is refused, and of one that a community may not see', async () => {
  const union = await service.community('Europe/Berlin', 'Union');
  for (const [id, caller] of [
    [999, key],
    [union.id, harbour.key],
  ] as const) {
    const answer = await service.get(`/spaces?communityId=${id}`, { key: caller });
    expect([answer.statusCode, answer.json().error]).toEqual([404, 'ResourceNotFound']);
  }
});
