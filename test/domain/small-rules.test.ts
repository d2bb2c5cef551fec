import { describe, expect, test } from 'vitest';
import { accountOfKey } from '../../src/domain/account.ts';
import { AUDITED_TYPES, accountChange } from '../../src/domain/account-change.ts';
import { historySteps } from '../../src/domain/booking-history.ts';
import { MAX_RULE_CHANGE_MS } from '../../src/domain/booking-moments.ts';
import { beginningOf, cutText } from '../../src/domain/cut-text.ts';
import { wrongRange } from '../../src/domain/date-range.ts';
import { refuse, refuseField, sentenceWith } from '../../src/domain/decision.ts';
import { EVENT_TYPES } from '../../src/domain/event-types.ts';
import { latestOf, maxOf, minOf } from '../../src/domain/extremes.ts';
import { forgetSubject } from '../../src/domain/forgetting.ts';
import { clockTime, hoursBetween } from '../../src/domain/hours.ts';
import { timestamp } from '../../src/domain/ids.ts';
import {
  accountOfSubject,
  erased,
  sealedTextsIn,
  subjectOf,
  userIdOf,
  withTexts,
} from '../../src/domain/personal-text.ts';
import { formatAmount, parseAmount } from '../../src/domain/pricing.ts';
import { evolveSkipped, skipEvent } from '../../src/domain/skipped-events.ts';
import { textOwnerOf } from '../../src/domain/text-owner.ts';
import { closedKind, reducedUsage } from '../../src/domain/time-slots.ts';
import { acme, approved, completed, day, requested } from './bookings.fixture.ts';

/** Rules of a few lines. */

test('an event is skipped once in each version of a read model', () => {
  const skip = { readModel: 'bookings', version: 6, eventId: 'e1', eventType: 'SpaceAdded', reason: 'Broken.' };
  const skipped = (...data: readonly (typeof skip)[]) =>
    data.map((each) => ({ type: 'ProjectionEventSkipped', data: each }) as const).reduce(evolveSkipped, []);
  expect(skipEvent([], skip)).toEqual([{ type: 'ProjectionEventSkipped', data: skip }]);
  for (const reason of ['', 'x'.repeat(501)])
    expect(skipEvent([], { ...skip, reason })).toMatchObject({ field: 'reason' });
  const others = [
    { ...skip, version: 5 },
    { ...skip, eventId: 'e2' },
  ];
  expect(skipEvent(skipped(...others), skip)).toHaveLength(1);
  for (const order of [
    [skip, ...others],
    [...others, skip],
  ])
    expect(skipEvent(skipped(...order), skip)).toEqual([]);
});

test.each([
  [{}, true],
  [{ startDate: '2026-12-02' }, true],
  [{ endDate: '2026-12-01' }, true],
  [{ startDate: '2026-12-01', endDate: '2026-12-01' }, true],
  [{ startDate: '2026-12-02', endDate: '2026-12-01' }, false],
])('the range %j is accepted: %s', (range, isRight) => {
  const dates = Object.fromEntries(Object.entries(range).map(([field, date]) => [field, day(date)]));
  expect(wrongRange(dates)?.details).toBe(isRight ? undefined : 'startDate must not be after endDate.');
});

test('a refusal of a field reads with the names of each face, any other as it is', () => {
  const nameOf = (field: string) => `the ${field}`;
  expect(sentenceWith(refuseField('end', 'must be after', 'start'), nameOf)).toBe('the end must be after the start.');
  expect(sentenceWith(refuse('ValidationError', 'No.', { field: 'end' }), nameOf)).toBe('No.');
  expect(sentenceWith({ ...refuseField('end', 'is wrong'), details: 'Said.' }, nameOf)).toBe('the end is wrong.');
  const { field: _, ...withoutField } = refuseField('end', 'is wrong');
  expect(sentenceWith(withoutField, nameOf)).toBe('end is wrong.');
});

test('the extremes of numbers and times', () => {
  expect([maxOf([2, 3, 1]), minOf([2, 1, 3]), maxOf([1], 5), minOf([6], 5), maxOf([]), minOf([])]).toEqual([
    ...[3, 1, 5, 5, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  ]);
  const [first, second] = ['2026-12-01T00:00:00.000Z', '2026-12-02T00:00:00.000Z'].map(timestamp);
  if (first === undefined || second === undefined) throw new Error('There are two');
  expect([latestOf(first), latestOf(first, undefined, second), latestOf(second, first)]).toEqual([
    first,
    second,
    second,
  ]);
});

test('a subject is forgotten once', () => {
  const event = { type: 'SubjectForgotten', data: { subject: 'brand:1' } };
  expect(forgetSubject(false, 'brand:1')).toEqual([event]);
  expect(forgetSubject(true, 'brand:1')).toEqual([]);
});

test('each step of a booking has the state before and after it', () => {
  const events = [requested(), approved(), completed()];
  expect(historySteps(events).map(({ event, from, to }) => [event.type, from, to])).toEqual([
    ['BookingRequested', undefined, 'Pending'],
    ['BookingApproved', 'Pending', 'Approved'],
    ['BookingCompleted', 'Approved', 'Completed'],
  ]);
});

test('a use without time has no hours that remain, and an hour is closed to a brand for the reason that it is closed', () => {
  expect(reducedUsage({ durationHours: 4 }, { from: 0, until: 0 })).toBeUndefined();
  expect(reducedUsage({ durationHours: 4 }, { from: 0, until: 3_600_000 })).toBe(1);
  expect(reducedUsage({ durationHours: 1 }, { from: 0, until: 3_600_000 })).toBeUndefined();
  for (const why of ['Inactive', 'TooFar', 'OutsideWindow', 'Past', 'TooSoon', 'Skipped', 'Closed'] as const)
    expect(closedKind({ why }, { kind: 'Brand', id: acme.brandId })).toBe(why);
});

describe('a text that is cut', () => {
  test.each([
    ['abc', 3, 'abc', 'abc'],
    ['abcd', 3, 'abc', 'ab…'],
    ['🎉🎉', 2, '🎉🎉', '🎉🎉'],
    ['a🎉🎉', 2, 'a🎉', 'a…'],
    ['ae\u0301b', 2, 'a', 'a…'],
    // One character of seven code points is cut, if there is no room for it.
    ['👩‍👩‍👧‍👦x', 4, '👩‍👩‍', '👩‍👩…'],
  ])('%j to %i', (text, most, beginning, cut) => {
    expect(beginningOf(text, most)).toBe(beginning);
    expect(cutText(text, most)).toBe(cut);
  });
});

test('amounts are written with two decimals, and read with ten digits', () => {
  expect([0, 5, 1_050, 123_456].map(formatAmount)).toEqual(['0.00', '0.05', '10.50', '1234.56']);
  expect([parseAmount('9999999999'), parseAmount('1,234,567,890'), parseAmount('12,345,678,901')]).toEqual([
    ...[999_999_999_900, 123_456_789_000, undefined],
  ]);
});

test('hours on the clock', () => {
  expect([0, 9.5, 23.75, 24].map(clockTime)).toEqual(['00:00', '09:30', '23:45', '24:00']);
  expect(hoursBetween(9, 13.5)).toBe('09:00–13:30');
  expect(MAX_RULE_CHANGE_MS).toBe(26 * 60 * 60 * 1_000);
});

test('personal texts are found, opened and erased, and belong to one account or user', () => {
  const sealed = { subject: 'brand:1', sealed: 's' } as const;
  const event = {
    data: { bookingId: 1, message: sealed, reason: 'The community did not answer in time.', none: null },
  };
  expect(sealedTextsIn(event.data)).toEqual({ message: sealed });
  expect(withTexts(event, { message: 'Hi' })).toEqual({ data: { ...event.data, message: 'Hi' } });
  expect(erased(event)).toEqual({ data: { ...event.data, message: 'erased' } });
  expect([userIdOf('user:u1'), userIdOf('brand:1')]).toEqual(['u1', undefined]);
  for (const key of ['Brand:7', 'Community:7']) {
    const account = accountOfKey(key);
    expect(account && accountOfSubject(subjectOf(account))).toEqual(account);
  }
  for (const other of ['Brand:', 'brand:1', 'User:1', 'Brand:1x']) expect(accountOfKey(other)).toBeUndefined();
  expect(textOwnerOf(requested())).toBe('booking:1');
  expect(textOwnerOf(approved())).toBeUndefined();
});

test('every event is a change of an account, except those of the service itself', () => {
  const internal = ['IdsReserved', 'LogCreated', 'ProjectionEventSkipped'];
  expect(AUDITED_TYPES).toEqual(EVENT_TYPES.filter((type) => !internal.includes(type)));
  expect(accountChange({ type: 'SubjectForgotten', data: { subject: 'user:1' } })).toBeUndefined();
  expect(accountChange({ type: 'SubjectForgotten', data: { subject: 'brand:1' } })).toMatchObject({
    of: { id: 'Brand 1' },
  });
});
