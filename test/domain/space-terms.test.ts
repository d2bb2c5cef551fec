import { describe, expect, test } from 'vitest';
import { termsOn } from '../../src/domain/day-terms.ts';
import type { DayHours, SpaceEvent } from '../../src/domain/events.ts';
import { cents } from '../../src/domain/ids.ts';
import {
  changedTerms,
  changeSpace,
  datesFrom,
  evolveSpace,
  moveSpace,
  type Space,
  type SpecialChanges,
} from '../../src/domain/space.ts';
import { horizonOf } from '../../src/domain/time-slots.ts';
import { daysAfter } from '../model/moments.ts';
import { at, day, hall } from './bookings.fixture.ts';

const { spaceId, communityId } = hall;
const ids = { spaceId, communityId };
const NOW = { now: at('2026-12-01T12:00:00Z') };
const TODAY = '2026-12-01';
const hours: DayHours = { windowStart: 10, windowEnd: 14 };
const specialFrom = (first: string, count: number): SpecialChanges =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [daysAfter(first, index), hours]));
const set = (space: Space, special: SpecialChanges, terms = {}) => changeSpace(space, { spaceId, terms, special }, NOW);
const folded = (...events: readonly SpaceEvent[]) => events.reduce(evolveSpace, hall as Space | undefined);

test('closing, opening and new hours change nothing else of a space', () => {
  const closed: SpaceEvent = { type: 'SpaceClosed', data: ids };
  expect(folded(closed)).toEqual({ ...hall, active: false });
  expect(folded(closed, { type: 'SpaceOpened', data: ids })).toEqual(hall);
  const dates = [
    { date: day('2026-12-24'), hours },
    { date: day('2026-12-25'), hours },
  ];
  const special: SpaceEvent = { type: 'SpaceChanged', data: { ...ids, dates, gapHours: 1 } };
  expect(folded(special)).toEqual({ ...hall, gapHours: 1, special: { '2026-12-24': hours, '2026-12-25': hours } });
  const usual: SpaceEvent = {
    type: 'SpaceChanged',
    data: { ...ids, dates: [{ date: day('2026-12-24'), hours: 'none' }] },
  };
  expect(folded(special, usual)?.special).toEqual({ '2026-12-25': hours });
  expect(termsOn(folded(special, usual) ?? hall, day('2026-12-24')).windowStart).toBe(9);
  for (const event of [closed, special]) expect(evolveSpace(undefined, event)).toBeUndefined();
});

describe('dates with hours of their own', () => {
  test('are at most 400 from today on, with those that are there', () => {
    expect(set(hall, specialFrom(TODAY, 400))).toHaveLength(1);
    expect(set(hall, specialFrom(TODAY, 401))).toMatchObject({
      details: expect.stringMatching(/at most 400.*not 401/),
    });
    // 399 are there, and ten that are over.
    const space = {
      ...hall,
      special: Object.fromEntries(Object.entries(specialFrom('2026-11-21', 409)).map(([date]) => [date, hours])),
    };
    expect(set(space, specialFrom('2028-06-01', 1))).toHaveLength(1);
    expect(set(space, specialFrom('2028-06-01', 2))).toMatchObject({ details: expect.stringMatching(/not 401/) });
    // One that is replaced or removed leaves room.
    const other = { windowStart: 11, windowEnd: 12 };
    expect(set(space, { ...specialFrom('2028-06-01', 1), [day('2026-12-24')]: other })).toHaveLength(1);
    expect(set(space, { ...specialFrom('2028-06-01', 2), [day('2026-12-24')]: 'none' })).toHaveLength(1);
  });
  test('can be removed where there were too many, and that is said with all else that is wrong', () => {
    const many = {
      ...hall,
      special: Object.fromEntries(Object.entries(specialFrom(TODAY, 405)).map(([date]) => [date, hours])),
    };
    expect(set(many, { [day('2026-12-24')]: 'none' })).toHaveLength(1);
    expect(set(many, { [day('2028-12-24')]: { windowStart: 14, windowEnd: 14 } })).toMatchObject({
      each: [{ day: '2028-12-24', rule: { text: 'must be before' } }, { details: expect.stringMatching(/not 406/) }],
    });
  });
  test('are those from a date on', () => {
    const special = { [day('2026-12-02')]: hours, [day('2026-12-01')]: hours, [day('2026-11-30')]: hours };
    expect(datesFrom(day('2026-12-01'), { special }).map(([date]) => date)).toEqual(['2026-12-01', '2026-12-02']);
    expect(datesFrom(day('2026-12-01'), {})).toEqual([]);
    // Those that are over do not count as changed meanwhile.
    expect(
      changedTerms({ ...hall, special: {} }, { ...hall, special: { [day('2026-11-30')]: hours } }, day(TODAY)),
    ).toEqual([]);
    expect(changedTerms({ ...hall, special: {} }, { ...hall, special }, day(TODAY))).toEqual(['special']);
  });
  test('may be today and up to five years ahead', () => {
    for (const date of [TODAY, '2031-12-01']) expect(set(hall, { [day(date)]: hours })).toHaveLength(1);
    for (const date of ['2026-11-30', '2031-12-02'])
      expect(set(hall, { [day(date)]: hours })).toMatchObject({ field: 'special', day: date });
  });
});

test('a change without dates says nothing of them', () => {
  expect(set(hall, {}, { gapHours: 1 })).toEqual([{ type: 'SpaceChanged', data: { ...ids, gapHours: 1 } }]);
});

test.each([
  [[], true],
  [Array.from({ length: 7 }, () => hours), true],
  [Array.from({ length: 6 }, () => hours), false],
  [[hours], false],
  [Array.from({ length: 8 }, () => hours), false],
] as const)('a week has seven days, or none: %#', (week, isRight) => {
  const before = { ...hall, week: Array.from({ length: 7 }, () => 'closed' as const) };
  const decision = changeSpace(before, { spaceId, terms: { week } }, NOW);
  expect(decision).toMatchObject(
    isRight ? [{ data: { week } }] : { field: 'week', details: 'week must have seven days.' },
  );
});

test('hours that end when they begin are none', () => {
  for (const windowEnd of [9, 10])
    expect(set(hall, {}, { week: Array.from({ length: 7 }, () => ({ windowStart: 10, windowEnd })) })).toMatchObject({
      each: Array.from({ length: 7 }, () => ({ rule: { text: 'must be before', other: 'windowEnd' } })),
    });
  // An hour that is none is named alone.
  expect(set(hall, {}, { windowStart: 24, windowEnd: 9 })).not.toHaveProperty('each');
});

test('the largest fee reads as people write it', () => {
  expect(set(hall, {}, { eventFee: cents(10_000_000_001) })).toMatchObject({
    details: 'eventFee must be 0 to 100,000,000.00, with at most two decimals.',
  });
});

test('a space gets the zone of its community once', () => {
  const move = (space: Space | undefined, timeZone: string) => moveSpace(space, { spaceId, timeZone });
  expect(move(hall, 'Asia/Tokyo')).toEqual([{ type: 'SpaceChanged', data: { ...ids, timeZone: 'Asia/Tokyo' } }]);
  expect(move(hall, hall.timeZone)).toEqual([]);
  expect(move(undefined, 'Asia/Tokyo')).toMatchObject({ refused: 'ResourceNotFound' });
});

test('how far ahead a space is booked, in words', () => {
  expect([{}, { horizonDays: 1 }, { horizonDays: 90 }].map(horizonOf)).toEqual(['5 years', '1 day', '90 days']);
});
