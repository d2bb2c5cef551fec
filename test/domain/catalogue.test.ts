import { describe, expect, test } from 'vitest';
import { addBrand, type Brand, evolveBrand, reinstateBrand, suspendBrand } from '../../src/domain/brand.ts';
import { addCommunity, changeCommunity, evolveCommunity } from '../../src/domain/community.ts';
import type { BrandEvent, CommunityFacts, DayHours, SpaceEvent, SpaceTerms } from '../../src/domain/events.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import {
  addSpace,
  changeSpace,
  evolveSpace,
  type SeenTerms,
  type Space,
  type SpecialChanges,
  switchSpace,
} from '../../src/domain/space.ts';
import { decider } from './given.ts';

const given = decider<Space | undefined, SpaceEvent>(undefined, evolveSpace);
const terms = {
  name: 'Great Hall',
  windowStart: 9,
  windowEnd: 22,
  durationHours: 4,
  eventFee: cents(20_000),
  answerHours: 72,
};
const id = spaceId(7);
const facts = { ...terms, spaceId: id, communityId: communityId(1), timeZone: 'Europe/Berlin' };
const added: SpaceEvent = { type: 'SpaceAdded', data: facts };
const ids = { spaceId: id, communityId: communityId(1) };
const NOW = Date.parse('2026-12-01T12:00:00Z');
const closed: SpaceEvent = { type: 'SpaceClosed', data: ids };

describe('a space', () => {
  const change = (changes: Partial<SpaceTerms>) => (space: Space | undefined) =>
    changeSpace(space, { spaceId: id, terms: changes }, { now: NOW });

  test('is added once, active', () => {
    given()
      .when((space) => addSpace(space, facts))
      .thenEvents({ type: 'SpaceAdded' });
    given(added)
      .when((space) => addSpace(space, facts))
      .thenRefused('ValidationError', /exists/);
    expect(evolveSpace(undefined, added)?.active).toBe(true);
  });

  test('a change contains only what differs', () => {
    given(added)
      .when(change({ name: 'Hall', windowEnd: 22 }))
      .thenEvents({ type: 'SpaceChanged', data: { name: 'Hall', spaceId: 7, communityId: 1 } });
    given(added)
      .when(change({ name: 'Great Hall' }))
      .thenNothing();
    given()
      .when(change({ name: 'Hall' }))
      .thenRefused('ResourceNotFound');
  });

  test.each<[string, Partial<SpaceTerms>, RegExp]>([
    ['an empty name', { name: ' ' }, /name/],
    ['a name that is too long', { name: 'x'.repeat(201) }, /name/],
    ['a window that starts at 24', { windowStart: 24 }, /windowStart/],
    ['a window that starts at half past', { windowStart: 9.5 }, /windowStart/],
    ['a window that ends at 24', { windowEnd: 24 }, /windowEnd/],
    ['a window that ends before it starts', { windowEnd: 9 }, /windowStart must be before/],
    ['no duration', { durationHours: 0 }, /durationHours/],
    ['a negative duration', { durationHours: -1 }, /durationHours/],
    ['a duration of 20 minutes', { durationHours: 1 / 3 }, /steps of 0.25/],
    ['a duration that is not a number', { durationHours: Number.NaN }, /durationHours/],
    ['half a cent', { eventFee: cents(0.5) }, /eventFee/],
    ['a negative fee', { eventFee: cents(-1) }, /eventFee/],
    ['no time to answer', { answerHours: 0 }, /answerHours/],
    ['half an hour to answer', { answerHours: 0.5 }, /answerHours must be a whole number, 1 to 2160/],
    ['a year to answer', { answerHours: 24 * 365 }, /answerHours/],
  ])('cannot have %s', (_, wrong, details) => {
    given()
      .when((space) => addSpace(space, { ...facts, ...wrong }))
      .thenRefused('ValidationError', details);
    given(added).when(change(wrong)).thenRefused('ValidationError', details);
  });

  test('is refused for everything that is wrong with it', () => {
    const wrong = { name: '', windowEnd: 9, eventFee: cents(-1) };
    const { decision } = given(added).when(change(wrong));
    expect(decision).toMatchObject({ details: expect.stringMatching(/^name /) });
    expect(decision).toMatchObject({
      each: [
        { field: 'name', details: 'name must have 1 to 200 characters.' },
        { field: 'eventFee', details: expect.stringMatching(/^eventFee must be 0 to /) },
        { field: 'windowStart', details: 'windowStart must be before windowEnd.' },
      ],
    });
    expect(given(added).when(change({ name: '' })).decision).not.toHaveProperty('each');
  });

  test('is not changed by a user who has not seen its current terms', () => {
    const theirs: SpaceEvent = { type: 'SpaceChanged', data: { eventFee: cents(500_00), ...ids } };
    const save = (mine: Partial<SpaceTerms>, seen: SpaceTerms) => (space: Space | undefined) =>
      changeSpace(space, { spaceId: id, terms: { ...terms, ...mine }, seen }, { now: NOW });
    given(added, theirs)
      .when(save({ windowEnd: 20 }, terms))
      .thenRefused('ValidationError', /changed meanwhile \(eventFee\)/);
    const seen = { ...terms, eventFee: cents(500_00) };
    given(added, theirs)
      .when(save({ windowEnd: 20 }, seen))
      .thenEvents({ data: { windowEnd: 20, eventFee: 20_000 } });
    // The same form twice: the first one has made the change.
    given(added, theirs)
      .when(save({ eventFee: cents(500_00) }, terms))
      .thenNothing();
    // A space that was closed meanwhile has the same terms.
    given(added, closed)
      .when(save({ windowEnd: 20 }, terms))
      .thenEvents({ data: { windowEnd: 20 } });
  });

  describe('hours of weekdays and dates', () => {
    const hours = (windowStart: number, windowEnd: number): DayHours => ({ windowStart, windowEnd });
    const week = [...Array.from({ length: 6 }, () => hours(9, 21)), 'closed' as const];
    const date = '2026-12-13' as PlainDate;
    const set =
      (changes: Partial<SpaceTerms>, special: SpecialChanges = {}, seen?: SeenTerms) =>
      (space?: Space) =>
        changeSpace(space, { spaceId: id, terms: changes, special, ...(seen && { seen }) }, { now: NOW });
    const ofDate = (of: DayHours | 'none'): SpaceEvent => ({
      type: 'SpaceChanged',
      data: { ...ids, dates: [{ date, hours: of }] },
    });
    const special = ofDate(hours(10, 14));

    test('are set in one step, and nothing happens if they are the same', () => {
      given(added)
        .when(set({ week, gapHours: 1 }, { [date]: hours(10, 14) }))
        .thenEvents({
          type: 'SpaceChanged',
          data: { week, gapHours: 1, dates: [{ date, hours: hours(10, 14) }], ...ids },
        });
      given(added, { type: 'SpaceChanged', data: { week, ...ids } }, special)
        .when(set({ week }, { [date]: hours(10, 14) }))
        .thenNothing();
      given(added, special)
        .when(set({}, { [date]: 'none', ['2026-12-14' as PlainDate]: 'none' }))
        .thenEvents(ofDate('none'));
      given(added)
        .when(set({ week: [], gapHours: 0, noticeHours: 0, cancelHours: 0 }))
        .thenNothing();
    });

    test('are refused with every wrong day, for dates that are over, and for too many dates', () => {
      const { decision } = given(added).when(
        set(
          { week: week.with(0, hours(12, 9)).with(2, hours(9, 24)), gapHours: 5 },
          { [date]: { ...hours(14, 10), eventFee: cents(-1) } },
        ),
      );
      const monday = { day: 'Monday', field: 'windowStart', rule: { text: 'must be before', other: 'windowEnd' } };
      expect(decision).toMatchObject({
        ...monday,
        each: [
          { ...monday, details: 'week Monday: windowStart must be before windowEnd.' },
          {
            day: 'Wednesday',
            field: 'windowEnd',
            details: 'week Wednesday: windowEnd must be a whole number, 0 to 23.',
          },
          { field: 'gapHours', details: 'gapHours must be 0 to 4, in steps of 0.25.' },
          {
            day: date,
            field: 'eventFee',
            details: expect.stringMatching(/^special 2026-12-13: eventFee must be 0 to /),
          },
          { day: date, field: 'windowStart', details: 'special 2026-12-13: windowStart must be before windowEnd.' },
        ],
      });
      // An hour that is none is not compared.
      expect(given(added).when(set({ week: week.with(0, hours(9, Number.NaN)) })).decision).not.toHaveProperty('each');
      for (const wrong of ['2026-11-30', '2031-12-02'])
        given(added)
          .when(set({}, { [wrong as PlainDate]: hours(9, 10) }))
          .thenRefused('ValidationError', /in the past|5 years ahead/);
      const dates = Array.from({ length: 401 }, (_, day) =>
        new Date(NOW + day * 86_400_000).toISOString().slice(0, 10),
      );
      given(added)
        .when(set({}, Object.fromEntries(dates.map((each) => [each, hours(9, 10)]))))
        .thenRefused('ValidationError', /at most 400 dates to come, not 401/);
    });

    test('are not changed by a user who has not seen those of a colleague', () => {
      given(added, special)
        .when(set({ noticeHours: 24 }, {}, { ...terms, special: {} }))
        .thenRefused('ValidationError', /changed meanwhile \(special\)/);
      // A page without special hours does not mind them.
      given(added, special)
        .when(set({ noticeHours: 24 }, {}, terms))
        .thenEvents({ data: { noticeHours: 24 } });
    });
  });

  test('with terms that used to be allowed still folds, changes and can be corrected', () => {
    const legacy: SpaceEvent = { type: 'SpaceChanged', data: { ...facts, answerHours: 0.5 } };
    given(added, legacy)
      .when(change({ name: 'Hall', answerHours: 0.5 }))
      .thenEvents({ data: { name: 'Hall', spaceId: 7, communityId: 1 } });
    given(added, legacy)
      .when(change({ answerHours: 1 }))
      .thenEvents({ data: { answerHours: 1, spaceId: 7, communityId: 1 } });
    given(added, legacy)
      .when(change({ answerHours: 0.25 }))
      .thenRefused('ValidationError', /answerHours/);
  });

  test('closes and opens, once each', () => {
    const close = (space: Space | undefined) => switchSpace(space, { spaceId: id, active: false });
    const open = (space: Space | undefined) => switchSpace(space, { spaceId: id, active: true });
    given(added).when(close).thenEvents({ type: 'SpaceClosed' });
    given(added, closed).when(close).thenNothing();
    given(added, closed).when(open).thenEvents({ type: 'SpaceOpened' });
    given(added).when(open).thenNothing();
    given().when(close).thenRefused('ResourceNotFound');
    given().when(open).thenRefused('ResourceNotFound');
  });
});

test('a community has a name and an IANA zone, and is added once', () => {
  const harbour = { communityId: communityId(1), name: 'Harbour', timeZone: 'Europe/Berlin' };
  expect(addCommunity(undefined, harbour)).toEqual([{ type: 'CommunityAdded', data: harbour }]);
  for (const timeZone of ['europe/berlin', 'EUROPE/BERLIN'])
    expect(addCommunity(undefined, { ...harbour, timeZone })).toEqual([{ type: 'CommunityAdded', data: harbour }]);
  expect(addCommunity(harbour, harbour)).toMatchObject({ refused: 'ValidationError' });
  expect(addCommunity(undefined, { ...harbour, name: '' })).toMatchObject({ refused: 'ValidationError' });
  for (const timeZone of ['+02:00', 'Berlin', ''])
    expect(addCommunity(undefined, { ...harbour, timeZone })).toMatchObject({
      refused: 'ValidationError',
      details: expect.stringMatching(/timeZone/),
    });
});

test('a brand has a name, and is added once', () => {
  const acme = { brandId: brandId(1), name: 'Acme' };
  expect(addBrand(undefined, acme)).toEqual([{ type: 'BrandAdded', data: acme }]);
  expect(addBrand(acme, acme)).toMatchObject({ refused: 'ValidationError' });
  expect(addBrand(undefined, { ...acme, name: '  ' })).toMatchObject({ refused: 'ValidationError' });
});

test('a brand is suspended and reinstated, each only once', () => {
  const acme = { brandId: brandId(1), name: 'Acme' };
  const given = decider<Brand | undefined, BrandEvent>(undefined, evolveBrand);
  const added: BrandEvent = { type: 'BrandAdded', data: acme };
  const suspended: BrandEvent = { type: 'BrandSuspended', data: { brandId: acme.brandId } };
  const reinstated: BrandEvent = { type: 'BrandReinstated', data: { brandId: acme.brandId } };
  const suspend = (reason?: string) => (brand: Brand | undefined) =>
    suspendBrand(brand, { brandId: acme.brandId, ...(reason !== undefined && { reason }) });
  const reinstate = (brand: Brand | undefined) => reinstateBrand(brand, { brandId: acme.brandId });
  given(added)
    .when(suspend('Spam'))
    .thenEvents({ type: 'BrandSuspended', data: { brandId: 1, reason: 'Spam' } });
  given(added).when(suspend()).thenEvents(suspended);
  given(added, suspended).when(suspend()).thenNothing();
  given(added, suspended).when(reinstate).thenEvents(reinstated);
  given(added).when(reinstate).thenNothing();
  given(added, suspended, reinstated).when(reinstate).thenNothing();
  given(added, suspended, reinstated).when(suspend()).thenEvents(suspended);
  given(added)
    .when(suspend('x'.repeat(10_000)))
    .thenRefused('ValidationError', /reason/);
  given().when(suspend()).thenRefused('ResourceNotFound');
  given().when(reinstate).thenRefused('ResourceNotFound');
  expect([suspended, reinstated].map((event) => evolveBrand(undefined, event))).toEqual([undefined, undefined]);
  expect(evolveBrand(evolveBrand(acme, suspended), reinstated)).toEqual(acme);
});

test('open bookings keep the zone of a community, and nothing else', () => {
  const community = { communityId: communityId(1), name: 'Harbour', timeZone: 'Asia/Dubai' };
  const unknown = changeCommunity(undefined, { communityId: communityId(9), facts: { name: 'Quay' } }, undefined);
  expect(unknown).toMatchObject({ refused: 'ResourceNotFound' });
  const renamed = { type: 'CommunityChanged', data: { communityId: communityId(1), name: 'Quay' } } as const;
  expect(evolveCommunity(community, renamed)).toEqual({ ...community, name: 'Quay' });
  expect(evolveCommunity(undefined, renamed)).toBeUndefined();
  const open = { count: 3, lastDate: '2027-03-28' as PlainDate };
  const change = (changes: Partial<CommunityFacts>, bookings?: typeof open, seen?: CommunityFacts) =>
    changeCommunity(community, { communityId: communityId(1), facts: changes, ...(seen && { seen }) }, bookings);
  expect(change({ timeZone: 'Europe/Berlin' })).toMatchObject([{ data: { timeZone: 'Europe/Berlin' } }]);
  expect(change({ name: 'Quay', timeZone: 'Europe/Berlin' }, open)).toMatchObject({
    refused: 'ValidationError',
    field: 'timeZone',
    details: 'timeZone cannot be changed while requests and bookings are open: 3, the last on 2027-03-28.',
  });
  expect(change({ name: 'Quay', timeZone: 'asia/dubai' }, open)).toMatchObject([{ data: { name: 'Quay' } }]);
  expect(change({ timeZone: 'Mars/Olympus' }, open)).toMatchObject({ details: expect.stringContaining('IANA') });
  // What does not change is not said, and a page that shows what is there changes it.
  for (const seen of [undefined, community]) {
    expect(change({ name: 'Quay', timeZone: 'Asia/Dubai' }, undefined, seen)).toEqual([renamed]);
    expect(change({ name: 'Harbour' }, undefined, seen)).toEqual([]);
    expect(change({}, open, seen)).toEqual([]);
    expect(change({ timeZone: 'Europe/Berlin' }, undefined, seen)).toEqual([
      { type: 'CommunityChanged', data: { communityId: 1, timeZone: 'Europe/Berlin' } },
    ]);
  }
  expect(change({ name: 'Quay' }, undefined, { ...community, timeZone: 'UTC' })).toMatchObject({
    refused: 'ValidationError',
  });
  // What a colleague has changed comes first.
  expect(change({ timeZone: 'Europe/Berlin' }, open, { ...community, name: 'Before' })).toMatchObject({
    details: expect.stringContaining('meanwhile'),
  });
});
