import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { datesBetween } from '../../src/domain/calendar.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import type { SpaceDescription } from '../../src/domain/description.ts';
import { type BrandId, brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import type { SpaceFilter } from '../../src/domain/space-search.ts';
import { readableCommunities } from '../../src/queries/reviews.ts';
import type { Searcher } from '../../src/queries/search-turns.ts';
import { createSpaceIndex } from '../../src/queries/space-index.ts';
import type { SpaceSearch } from '../../src/queries/space-search.ts';
import { accepted } from '../accepted.ts';
import { day } from '../domain/bookings.fixture.ts';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

/** The clock of the service is fixed at noon UTC on Tuesday, 1 December 2026. */

describe.each(enginePairs)('a search for spaces on %s', { timeout: 60_000 }, (_, open) => {
  let pair: EnginePair;
  let service: RunningService;
  let brand: { readonly account: Account; readonly id: number };
  let harbour: { readonly account: Account; readonly id: number };
  let union: { readonly account: Account; readonly id: number };
  /** Ids of spaces by name. */
  const ids = new Map<string, number>();

  const BERLIN = { latitude: 52.52, longitude: 13.405 };
  const POTSDAM = { latitude: 52.39, longitude: 13.065 };

  beforeAll(async () => {
    pair = await open();
    service = await runService(pair.settings);
    brand = await service.brand();
    harbour = await service.community('Europe/Berlin', 'Harbour');
    union = await service.community('America/New_York', 'Únion House');
    const { catalogue } = service.core.commands;
    const address = { street: 'Kai 7', postalCode: '10117', city: 'Köln', country: 'DE' };
    const house = { communityId: communityId(harbour.id), wanted: { address, coordinates: BERLIN } };
    accepted(await catalogue.describeCommunity(house, CONTEXT));
    const add = async (
      of: { readonly id: number },
      name: string,
      fee: number,
      wanted: SpaceDescription,
      terms: Parameters<RunningService['space']>[1] = {},
    ) => {
      const id = await service.space(of, { name, eventFee: cents(fee), durationHours: 1, ...terms });
      ids.set(name, id);
      if (Object.keys(wanted).length > 0)
        accepted(await catalogue.describeSpace({ spaceId: spaceId(id), wanted }, CONTEXT));
    };
    await add(harbour, 'Great Hall', 900_00, {
      kind: 'Hall',
      seated: 200,
      standing: 300,
      amenities: ['Wifi', 'Piano'],
    });
    await add(harbour, 'Loft', 300_00, { kind: 'Loft', seated: 40, amenities: ['Wifi'] });
    await add(union, 'Yard', 300_00, { kind: 'Garden', standing: 60 });
    await add(union, 'Cellar', 100_00, {}, { windowStart: 18, windowEnd: 20 });
  });
  afterAll(async () => {
    await service.stop();
    await pair.stop();
  });

  test('an index of read models that lag is built again, and shows what they lacked', async () => {
    const { core } = service;
    const { readModels } = core.projector;
    const newest = Math.max(...ids.values());
    let isLagging = true;
    const lagging: typeof readModels = {
      ...readModels,
      waitFor: async (...args) => !isLagging && readModels.waitFor(...args),
      collection(projection) {
        const whole = readModels.collection(projection);
        if (!isLagging || projection.name !== 'spaces') return whole;
        return {
          ...whole,
          async *find(query) {
            for await (const each of whole.find(query)) if (Reflect.get(each, 'spaceId') !== newest) yield each;
          },
        };
      },
    };
    const withIndex = createSpaceIndex({ ...core, readModels: lagging });
    const found = () => withIndex(brand.account, [], async ({ spaces }) => spaces.map(({ space }) => space.spaceId));
    expect(await found()).not.toContain(newest);
    isLagging = false;
    expect(await found()).toContain(newest);
  });

  test('accounts do not wait until all days of a stranger are read', async () => {
    const { core } = service;
    const { readModels } = core.projector;
    let daysRead = 0;
    const counting: typeof readModels = {
      ...readModels,
      collection(projection) {
        const whole = readModels.collection(projection);
        if (projection.name !== 'availability') return whole;
        return {
          ...whole,
          find(query) {
            daysRead += 1;
            return whole.find(query);
          },
        };
      },
    };
    const withIndex = createSpaceIndex({ ...core, readModels: counting });
    const month = [...datesBetween(day('2027-05-01'), day('2027-05-31'))];
    const readWhen = (by: Searcher, dates: readonly PlainDate[]) => withIndex(by, dates, async () => daysRead);
    const strangers = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((network) =>
      readWhen({ kind: 'Stranger', network }, month),
    );
    expect(await readWhen(brand.account, [])).toBeLessThanOrEqual(1);
    expect(await Promise.all(strangers)).toEqual([31, 31, 31]);
    // Days that were read are kept.
    expect(await readWhen(brand.account, month)).toBe(31);
  });

  test('strangers look at most 18 months ahead, accounts as far as they can book', async () => {
    const stranger = { by: { kind: 'Stranger', network: '192.0.2.1' } } as const;
    for (const filter of [{ month: '2028-07' }, { dates: [day('2028-07-01')] }]) {
      expect(accepted(await search(filter)).total).toBe(4);
      expect(await search(filter, stranger)).toMatchObject({
        refused: 'ValidationError',
        details: expect.stringContaining('must be at most 18 months ahead'),
      });
    }
    accepted(await search({ month: '2028-06' }, stranger));
  });

  const search = async (filter: SpaceFilter, more: Partial<SpaceSearch> = {}) =>
    service.core.queries.spaceSearch({ by: brand.account, serviceFeePercent: 10, limit: 10, filter, ...more });

  async function namesOf(filter: SpaceFilter, more: Partial<SpaceSearch> = {}): Promise<readonly string[]> {
    return accepted(await search(filter, more)).spaces.map(({ space }) => space.name);
  }

  async function book(name: string, date: PlainDate, startHour: number, by: BrandId = brandId(brand.id)) {
    const details = { spaceId: spaceId(ids.get(name) ?? 0), date, startHour };
    return accepted(await service.core.commands.bookings.request({ brandId: by, details }, CONTEXT)).bookingId;
  }

  test('finds those that take the guests, the smallest first, and none that says nothing', async () => {
    expect(await namesOf({})).toEqual(['Cellar', 'Loft', 'Yard', 'Great Hall']);
    expect(await namesOf({ guests: 40 })).toEqual(['Loft', 'Yard', 'Great Hall']);
    expect(await namesOf({ guests: 41 })).toEqual(['Yard', 'Great Hall']);
    expect(await namesOf({ guests: 301 })).toEqual([]);
  });

  test('compares kind, amenities, price, names and the place in words', async () => {
    expect(await namesOf({ kind: 'Garden' })).toEqual(['Yard']);
    expect(await namesOf({ amenities: ['Wifi', 'Piano'] })).toEqual(['Great Hall']);
    // With the fee of 10 %.
    expect(await namesOf({ maxPrice: cents(329_99) })).toEqual(['Cellar']);
    expect(await namesOf({ maxPrice: cents(330_00) })).toEqual(['Cellar', 'Loft', 'Yard']);
    expect(await namesOf({ name: 'union YARD' })).toEqual(['Yard']);
    expect(await namesOf({ place: 'koln 10117' })).toEqual(['Loft', 'Great Hall']);
    expect(await namesOf({ place: 'kai' })).toEqual(['Loft', 'Great Hall']);
    expect(await namesOf({ place: 'union' })).toEqual(['Cellar', 'Yard']);
    expect(await namesOf({ communityId: harbour.id })).toEqual(['Loft', 'Great Hall']);
    expect(await namesOf({ hour: 12 })).toEqual(['Loft', 'Yard', 'Great Hall']);
  });

  test('measures how far away a house is', async () => {
    expect(await namesOf({ near: POTSDAM })).toEqual([]);
    const found = accepted(await search({ near: POTSDAM, within: 30 }, { sort: 'distance' })).spaces;
    expect(found.map(({ space, km }) => [space.name, Math.round(km ?? 0)])).toEqual([
      ['Loft', 27],
      ['Great Hall', 27],
    ]);
  });

  test('shows each account the spaces it may see', async () => {
    expect(await namesOf({}, { by: union.account })).toEqual(['Cellar', 'Yard']);
    const others = await search({ communityId: harbour.id }, { by: union.account });
    expect(others).toMatchObject({ refused: 'ResourceNotFound' });
  });

  test('finds spaces that are free at an hour on one of several days', async () => {
    const [monday, tuesday] = [day('2026-12-14'), day('2026-12-15')];
    await book('Loft', monday, 12);
    await book('Yard', monday, 12);
    await book('Yard', tuesday, 12);
    expect(await namesOf({ dates: [monday], hour: 12 })).toEqual(['Great Hall']);
    expect(await namesOf({ dates: [monday, tuesday], hour: 12 })).toEqual(['Loft', 'Great Hall']);
    const result = accepted(await search({ dates: [tuesday, monday], hour: 12 }, { includeTaken: true }));
    expect([result.total, result.free, result.firstFree]).toEqual([3, 2, monday]);
    expect(result.spaces.map(({ space, freeDays }) => [space.name, freeDays?.map(({ date }) => date)])).toEqual([
      ['Loft', [tuesday]],
      ['Great Hall', [monday, tuesday]],
      ['Yard', []],
    ]);
    // What has changed since the search before is seen at once.
    const later = await book('Loft', tuesday, 12);
    expect(await namesOf({ dates: [monday, tuesday], hour: 12 })).toEqual(['Great Hall']);
    const by = { kind: 'Brand', id: brandId(brand.id) } as const;
    accepted(await service.core.commands.bookings.cancel({ bookingId: later, by }, CONTEXT));
    expect(await namesOf({ dates: [monday, tuesday], hour: 12 })).toEqual(['Loft', 'Great Hall']);
  });

  test('takes the price of the day', async () => {
    const saturday = day('2026-12-19');
    const week = Array.from({ length: 7 }, (_, at) =>
      at === 5 ? { windowStart: 9, windowEnd: 22, eventFee: cents(500_00) } : { windowStart: 9, windowEnd: 22 },
    );
    const { catalogue } = service.core.commands;
    const id = ids.get('Loft') ?? 0;
    accepted(await catalogue.changeSpace({ spaceId: spaceId(id), terms: { week } }, CONTEXT));
    expect(await namesOf({ dates: [saturday], maxPrice: cents(330_00) })).toEqual(['Cellar', 'Yard']);
    expect(await namesOf({ month: '2026-12', weekdays: ['Saturday'] }, { sort: 'price' })).toEqual([
      'Cellar',
      'Yard',
      'Loft',
      'Great Hall',
    ]);
    accepted(await catalogue.changeSpace({ spaceId: spaceId(id), terms: { week: [] } }, CONTEXT));
    expect(await namesOf({ dates: [saturday], maxPrice: cents(330_00) })).toEqual(['Cellar', 'Loft', 'Yard']);
  });

  test('shows what has changed since the search before', async () => {
    const { catalogue } = service.core.commands;
    const date = day('2027-03-03');
    const yard = ids.get('Yard') ?? 0;
    expect(await namesOf({ dates: [date], name: 'yard' })).toEqual(['Yard']);
    accepted(await catalogue.closeSpace(yard, CONTEXT));
    expect(await namesOf({ dates: [date], name: 'yard' })).toEqual([]);
    expect(await namesOf({ dates: [date], name: 'yard' }, { includeInactive: true, includeTaken: true })).toEqual([
      'Yard',
    ]);
    accepted(await catalogue.openSpace(yard, CONTEXT));
    const wanted = { kind: 'Bar' } as const;
    accepted(await catalogue.describeSpace({ spaceId: spaceId(yard), wanted }, CONTEXT));
    expect(await namesOf({ kind: 'Bar' })).toEqual(['Yard']);
    const moved = { communityId: communityId(union.id), facts: { name: 'Depot' } };
    accepted(await catalogue.changeCommunity(moved, CONTEXT));
    expect(await namesOf({ place: 'depot' })).toEqual(['Cellar', 'Yard']);
    const added = await service.space(union, { name: 'Attic' });
    expect(await namesOf({ dates: [date], name: 'attic' })).toEqual(['Attic']);
    accepted(await catalogue.closeSpace(added, CONTEXT));
  });

  test('finds exactly the hours that GET availability has', async () => {
    const month = ['2026-12', '2027-03', '2027-10'];
    for (const each of month) {
      const found = accepted(await search({ month: each }, { includeTaken: true }));
      for (const { space, freeDays = [] } of found.spaces)
        for (const { date, openHours } of freeDays) {
          const { account } = brand;
          const availability = accepted(await service.core.queries.availability({ account, ...space, date }));
          const open = availability.timeSlots().filter(({ isAvailable }) => isAvailable);
          expect([date, openHours]).toEqual([date, open.map(({ hour }) => hour)]);
        }
    }
    // Today is the first: hours that are over are not free.
    const today = accepted(await search({ dates: [day('2026-12-01')], name: 'loft' }));
    expect(today.spaces[0]?.freeDays?.[0]?.openHours[0]).toBe(14);
  });

  test('sorts by the ratings that the account may read', async () => {
    const { bookings } = service.core.commands;
    const date = day('2026-12-02');
    const reviewed = await book('Great Hall', date, 9);
    const harbourId = communityId(harbour.id);
    accepted(await bookings.approve({ bookingId: reviewed, communityId: harbourId }, CONTEXT));
    service.time.now = Date.parse('2026-12-03T12:00:00Z');
    accepted(await bookings.complete(reviewed, CONTEXT));
    const review = { bookingId: reviewed, brandId: brandId(brand.id), rating: 4, title: 'Good', content: 'Light' };
    accepted(await service.core.commands.reviews.post(review, CONTEXT));
    service.time.now = NOON;
    const ratings = async (by: Account) =>
      accepted(await search({ place: 'köln' }, { sort: 'rating', by })).spaces.map(({ space, rating }) => [
        space.name,
        rating?.average,
      ]);
    expect(await ratings(brand.account)).toEqual([
      ['Great Hall', 4],
      ['Loft', undefined],
    ]);
    const other = await service.brand('Rival');
    expect(await ratings(other.account)).toEqual([
      ['Loft', undefined],
      ['Great Hall', undefined],
    ]);

    // In one query, however many communities have reviews.
    const { readModels } = service.core.projector;
    const read = vi.spyOn(readModels, 'collection');
    const communities = [harbour.id, union.id].map(communityId);
    expect([...(await readableCommunities({ readModels }, brand.account, communities))]).toEqual([harbourId]);
    expect([...(await readableCommunities({ readModels }, other.account, communities))]).toEqual([]);
    expect([...(await readableCommunities({ readModels }, union.account, communities))]).toEqual([union.id]);
    expect(read).toHaveBeenCalledTimes(2);
    read.mockRestore();
  });

  test.each<[string, SpaceFilter, string]>([
    ['no guests', { guests: 0 }, 'guests'],
    ['fewer than none', { guests: -1 }, 'guests'],
    ['a billion guests', { guests: 1e9 }, 'guests'],
    ['half a guest', { guests: 2.5 }, 'guests'],
    ['a place beyond the pole', { near: { latitude: 91, longitude: 0 } }, 'near'],
    ['a place that is none', { near: { latitude: Number.NaN, longitude: 0 } }, 'near'],
    ['a distance without a place', { within: 5 }, 'within'],
    [
      '51 dates',
      {
        dates: Array.from({ length: 51 }, (_, at) =>
          day(`2027-${at < 25 ? '01' : '03'}-${String((at % 25) + 1).padStart(2, '0')}`),
        ),
      },
      'date',
    ],
    ['a date that is over', { dates: [day('2026-11-29')] }, 'date'],
    ['a date too far ahead', { dates: [day('2032-01-01')] }, 'date'],
    ['a thirteenth month', { month: '2027-13' }, 'month'],
    ['a month that is over', { month: '2026-10' }, 'month'],
    ['weekdays of no month', { weekdays: ['Saturday'] }, 'weekday'],
    ['an hour of no clock', { hour: 24 }, 'hour'],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, 'name'],
  ])('refuses %s', async (_, filter, field) => {
    const refused = await search(filter);
    expect(isRefusal(refused) && [refused.refused, refused.field]).toEqual(['ValidationError', field]);
  });

  test('refuses to sort by the distance from nowhere', async () => {
    expect(await search({}, { sort: 'distance' })).toMatchObject({ refused: 'ValidationError', field: 'sort' });
  });
});
