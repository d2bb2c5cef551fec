import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { WEEKDAYS } from '../../src/domain/calendar.ts';
import {
  type AddClosure,
  addClosure,
  type Closure,
  calendarIdOf,
  calendarIdOn,
  changeClosure,
  covers,
  datesOf,
  endClosure,
  evolveClosure,
  hasDayFrom,
  leaveOutDate,
  spaceDatesOf,
} from '../../src/domain/closure.ts';
import type { Decision, RefusalCode } from '../../src/domain/decision.ts';
import type { ClosureEvent } from '../../src/domain/events.ts';
import { type ClosureId, closureId, communityId, spaceId, timestamp } from '../../src/domain/ids.ts';
import { daysAfter, weekdayOf } from '../model/moments.ts';
import { day } from './bookings.fixture.ts';
import { decider } from './given.ts';

const given = decider<Closure | undefined, ClosureEvent>(undefined, evolveClosure);
const TODAY = day('2026-12-07');
const owner = { closureId: closureId('c1'), communityId: communityId(1) };
/** Two spaces, on the Mondays and Saturdays of a fortnight: 7, 12, 14 and 19 December. */
const wanted: AddClosure = {
  ...owner,
  kind: 'Closure',
  spaceIds: [spaceId(7), spaceId(8)],
  from: '2026-12-07',
  to: '2026-12-20',
  weekdays: ['Monday', 'Saturday'],
  start: 9,
  until: 12,
  title: 'Cleaning',
};
const DATES = ['2026-12-07', '2026-12-12', '2026-12-14', '2026-12-19'];
const data = { ...wanted, from: day(wanted.from), to: day(wanted.to) };
const added: ClosureEvent = { type: 'ClosureAdded', data };
const ended: ClosureEvent = { type: 'ClosureEnded', data: owner };
const replaced: ClosureEvent = { type: 'ClosureEnded', data: { ...owner, replacedBy: closureId('c2') } };
const leftOut = (date: string): ClosureEvent => ({ type: 'ClosureDateLeftOut', data: { ...owner, date: day(date) } });
const stateAfter = (...events: readonly ClosureEvent[]): Closure => {
  const state = events.reduce(evolveClosure, undefined as Closure | undefined);
  if (state === undefined) throw new Error('There is no closure');
  return state;
};

test('a closure folds into what was asked for, the dates left out, and how it ended', () => {
  const before = { ...data, hasEnded: false, datesLeftOut: [] };
  expect(stateAfter(added)).toEqual(before);
  expect(stateAfter(added, leftOut('2026-12-12'), leftOut('2026-12-14'))).toEqual({
    ...before,
    datesLeftOut: ['2026-12-12', '2026-12-14'],
  });
  expect(stateAfter(added, ended)).toEqual({ ...before, hasEnded: true });
  expect(stateAfter(added, replaced)).toEqual({ ...before, hasEnded: true, replacedBy: 'c2' });
  for (const event of [ended, leftOut('2026-12-12')]) expect(evolveClosure(undefined, event)).toBeUndefined();
});

test('it covers the dates of its range on its weekdays, on each of its spaces', () => {
  const anyDate = fc.integer({ min: 0, max: 40 }).map((days) => daysAfter('2028-02-10', days));
  const weekdays = fc.option(fc.subarray([...WEEKDAYS], { minLength: 1 }), { nil: undefined });
  fc.assert(
    fc.property(anyDate, fc.integer({ min: 0, max: 30 }), weekdays, (from, length, named) => {
      const days = Array.from({ length: length + 1 }, (_, index) => daysAfter(from, index));
      const expected = days.filter((date) => named?.includes(WEEKDAYS[weekdayOf(date)] ?? 'Monday') ?? true);
      const spaceIds = [spaceId(1), spaceId(2)];
      const to = day(days.at(-1) ?? from);
      const closure = { from: day(from), to, spaceIds, ...(named && { weekdays: named }) };
      expect(datesOf(closure)).toEqual(expected);
      const all = expected.flatMap((date) => spaceIds.map((id) => ({ spaceId: id, date: day(date) })));
      expect(spaceDatesOf(closure)).toEqual(all);
      for (const date of [daysAfter(from, -1), ...days, daysAfter(to, 1)])
        for (const [id, isIts] of [
          [1, true],
          [3, false],
        ] as const)
          expect(covers(closure, { spaceId: spaceId(id), date: day(date) })).toBe(isIts && expected.includes(date));
      for (const date of [daysAfter(from, -1), ...days, daysAfter(to, 1)]) {
        // Every second day of the spaces was left out.
        const leftOut = all.filter((_, index) => index % 2 === 0);
        const left = all.filter((each) => !leftOut.includes(each) && each.date >= date);
        const isRest = leftOut.some((each) => each.date >= date) ? left.length > 0 : to >= date;
        expect(hasDayFrom({ ...closure, leftOut }, day(date))).toBe(isRest);
        expect(hasDayFrom({ ...closure, leftOut: all }, day(date))).toBe(
          !all.some((each) => each.date >= date) && to >= date,
        );
      }
    }),
    { numRuns: 50 },
  );
});

describe('adding', () => {
  const add =
    (fields: Partial<AddClosure> = {}) =>
    (before: Closure | undefined) =>
      addClosure(before, { ...wanted, ...fields }, TODAY);

  test('is one event, with all that was asked for', () => {
    given().when(add()).thenEvents(added);
    given(added).when(add()).thenNothing();
    expect(given().when(add({ importKey: 'line 1' })).decision).toEqual([
      { type: 'ClosureAdded', data: { ...data, importKey: 'line 1' } },
    ]);
    // All weekdays are none, and an empty title is none.
    const { weekdays: _, title: __, ...rest } = data;
    expect(given().when(add({ weekdays: WEEKDAYS, title: '' })).decision).toEqual([
      { type: 'ClosureAdded', data: rest },
    ]);
    expect(given().when(add({ weekdays: WEEKDAYS.slice(1) })).decision).toMatchObject([
      { data: { weekdays: WEEKDAYS.slice(1) } },
    ]);
  });

  test.each<[string, Partial<AddClosure>]>([
    ['today only', { from: '2026-12-07', to: '2026-12-07' }],
    ['the last date that can be booked', { from: '2031-12-06', to: '2031-12-07', weekdays: WEEKDAYS }],
    ['the whole day', { start: 0, until: 24 }],
    ['the last hour', { start: 23, until: 24 }],
    ['a title of 200 characters', { title: 'x'.repeat(200) }],
    ['2,000 days', { from: '2027-01-01', to: '2029-09-26', weekdays: WEEKDAYS }],
  ])('accepts %s', (_, { weekdays, ...fields }) => {
    given()
      .when(add({ ...fields, ...(weekdays && { weekdays }) }))
      .thenEvents({ type: 'ClosureAdded', data: fields });
  });

  test.each<[string, Partial<AddClosure>, RegExp]>([
    ['no date', { from: '2026-12-32' }, /from and to must be dates/],
    ['no last date', { to: 'tomorrow' }, /from and to must be dates/],
    ['an end before the start', { from: '2026-12-20', to: '2026-12-19' }, /^to \(2026-12-19\) must not be before from/],
    ['yesterday', { from: '2026-12-06' }, /^from must be today \(2026-12-07\) or later/],
    ['a date in more than five years', { to: '2031-12-08' }, /^to must be within the next 5 years/],
    ['no hour', { start: 12, until: 12 }, /hours must be whole/],
    ['hours before the day', { start: -1 }, /hours must be whole/],
    ['hours after the day', { until: 25 }, /hours must be whole/],
    ['half an hour at the start', { start: 9.5 }, /hours must be whole/],
    ['half an hour at the end', { until: 11.5 }, /hours must be whole/],
    ['a title of 201 characters', { title: 'x'.repeat(201) }, /^title /],
    ['no space', { spaceIds: [] }, /at least one space/],
    ['no weekday', { weekdays: [] }, /at least one weekday/],
    [
      '2,002 days',
      { from: '2027-01-01', to: '2029-09-27', weekdays: WEEKDAYS },
      /2,002 days \(1001 dates, 2 spaces\).*2,000/,
    ],
  ])('refuses %s', (_, fields, details) => {
    given().when(add(fields)).thenRefused('ValidationError', details);
  });

  test('refuses weekdays that no date has, and says which field is wrong', () => {
    const { decision } = given().when(add({ to: '2026-12-08', weekdays: ['Sunday'] }));
    expect(decision).toMatchObject({ refused: 'ValidationError', reason: 'NoWeekdayInRange', field: 'weekdays' });
    expect(given().when(add({ from: '2026-12-20', to: '2026-12-19' })).decision).toMatchObject({ field: 'to' });
  });
});

describe('changing', () => {
  const calendar = { calendarId: closureId('c0'), firstAddedAt: timestamp('2026-12-01T00:00:00.000Z') };
  const change = (state: Closure, date?: string, today = TODAY): Decision<ClosureEvent> =>
    changeClosure(
      state,
      {
        closureId: closureId('c2'),
        start: 10,
        until: 14,
        title: 'Painting',
        calendar,
        ...(date && { date: day(date) }),
      },
      today,
    );
  const changed = {
    closureId: 'c2',
    start: 10,
    until: 14,
    title: 'Painting',
    replaces: { closureId: 'c1', ...calendar },
  };

  test('takes over all dates from today on, or one', () => {
    expect(change(stateAfter(added))).toEqual([{ type: 'ClosureAdded', data: { ...data, ...changed } }]);
    expect(change(stateAfter(added), undefined, day('2026-12-12'))).toEqual([
      { type: 'ClosureAdded', data: { ...data, ...changed, from: '2026-12-12' } },
    ]);
    const { weekdays: _, ...all } = data;
    expect(change(stateAfter(added), '2026-12-14')).toEqual([
      { type: 'ClosureAdded', data: { ...all, ...changed, from: '2026-12-14', to: '2026-12-14' } },
    ]);
  });

  test('is refused once it has ended, and for dates that it has not, or that are over', () => {
    expect(change(stateAfter(added, ended))).toMatchObject({ details: 'It has ended.' });
    expect(change(stateAfter(added, replaced))).toMatchObject({ details: expect.stringContaining('those of c2 now') });
    expect(change(stateAfter(added), '2026-12-13')).toMatchObject({
      field: 'date',
      details: expect.stringMatching(/one of its dates/),
    });
    expect(change(stateAfter(added), '2026-12-07', day('2026-12-08'))).toMatchObject({
      details: expect.stringMatching(/today/),
    });
    expect(change(stateAfter(added), undefined, day('2026-12-20'))).toMatchObject({
      details: expect.stringMatching(/no date from today/),
    });
    expect(change({ ...stateAfter(added), kind: 'OwnEvent', spaceIds: [] })).toMatchObject({
      details: expect.stringMatching(/one space/),
    });
  });
});

describe('ending and leaving out', () => {
  const end =
    (fields: { communityId?: number; replacedBy?: ClosureId } = {}) =>
    (state: Closure | undefined) =>
      endClosure(state, { closureId: 'c1', ...fields, communityId: communityId(fields.communityId ?? 1) });
  const leave =
    (date: string, by = 1, today = TODAY) =>
    (state: Closure | undefined) =>
      leaveOutDate(state, { closureId: 'c1', communityId: communityId(by), date: day(date) }, today);

  test('happen once', () => {
    given(added).when(end()).thenEvents(ended);
    given(added)
      .when(end({ replacedBy: closureId('c2') }))
      .thenEvents(replaced);
    expect(given(added).when(end()).decision).toEqual([ended]);
    given(added, ended).when(end()).thenNothing();
    for (const date of DATES) given(added).when(leave(date)).thenEvents(leftOut(date));
    given(added, leftOut('2026-12-12')).when(leave('2026-12-12')).thenNothing();
    given(added, leftOut('2026-12-12')).when(leave('2026-12-14')).thenEvents(leftOut('2026-12-14'));
    given(added, ended).when(leave('2026-12-12')).thenNothing();
  });

  test.each<[string, (state: Closure | undefined) => Decision<ClosureEvent>, readonly ClosureEvent[], RefusalCode]>([
    ['ending none', end(), [], 'ResourceNotFound'],
    ['ending that of others', end({ communityId: 2 }), [added], 'ResourceNotFound'],
    ['ending one that was changed', end(), [added, replaced], 'ValidationError'],
    ['leaving out a date of none', leave('2026-12-12'), [], 'ResourceNotFound'],
    ['leaving out a date of others', leave('2026-12-12', 2), [added], 'ResourceNotFound'],
    ['leaving out a date of one that was changed', leave('2026-12-12'), [added, replaced], 'ValidationError'],
    ['leaving out a date that it has not', leave('2026-12-13'), [added], 'ValidationError'],
    ['leaving out a date that is over', leave('2026-12-07', 1, day('2026-12-08')), [added], 'ValidationError'],
  ])('refuses %s', (_, decide, events, code) => {
    given(...events)
      .when(decide)
      .thenRefused(code);
  });
});

test('calendar programs know a changed closure by its first id, unless one of its dates is split', () => {
  const replaces = {
    closureId: closureId('c0'),
    calendarId: closureId('first'),
    firstAddedAt: timestamp('2026-12-01T00:00:00.000Z'),
  };
  const spaceIds = [spaceId(7), spaceId(8)];
  const of = (leftOut: readonly [number, string][], isChange = true) => ({
    closureId: closureId('c1'),
    spaceIds,
    leftOut: leftOut.map(([id, date]) => ({ spaceId: spaceId(id), date: day(date) })),
    ...(isChange && { replaces }),
  });
  expect(calendarIdOf(of([], false))).toBe('c1');
  expect(calendarIdOf(of([]))).toBe('first');
  expect(
    calendarIdOf(
      of([
        [7, '2026-12-12'],
        [8, '2026-12-12'],
      ]),
    ),
  ).toBe('first');
  expect(calendarIdOf(of([[7, '2026-12-12']]))).toBe('c1');
  expect(
    calendarIdOf(
      of([
        [7, '2026-12-12'],
        [8, '2026-12-12'],
        [8, '2026-12-14'],
      ]),
    ),
  ).toBe('c1');
  expect(calendarIdOn(of([], false), day('2026-12-12'))).toBe('c1');
  expect(calendarIdOn(of([[7, '2026-12-12']]), day('2026-12-12'))).toBe('c1');
  expect(
    calendarIdOn(
      of([
        [7, '2026-12-12'],
        [7, '2026-12-14'],
      ]),
      day('2026-12-12'),
    ),
  ).toBe('c1');
  expect(calendarIdOn(of([[7, '2026-12-12']]), day('2026-12-14'))).toBe('first');
});
