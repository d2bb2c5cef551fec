import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { closures } from '../../projections/closures.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { closureId, communityId, spaceId } from '../../src/domain/ids.ts';
import { day, timeClosed, timeReopened } from '../domain/bookings.fixture.ts';
import { folded } from './given-events.ts';

const id = closureId('c1');
const owner = { closureId: id, communityId: communityId(1) };
/** Two spaces on two dates. */
const data = {
  ...owner,
  kind: 'Closure',
  spaceIds: [spaceId(7), spaceId(8)],
  from: day('2026-12-10'),
  to: day('2026-12-11'),
  start: 0,
  until: 24,
} as const;
const added: DomainEvent = { type: 'ClosureAdded', data };
const ended: DomainEvent = { type: 'ClosureEnded', data: owner };
const leftOut = (date: string): DomainEvent => ({ type: 'ClosureDateLeftOut', data: { ...owner, date: day(date) } });
const DAYS = [7, 8].flatMap((space) =>
  ['2026-12-10', '2026-12-11'].map((date) => ({ spaceId: spaceId(space), date: day(date) })),
);
const closed = DAYS.map((each) => timeClosed({ ...each, closureId: id }));
const reopened = DAYS.map((each) => timeReopened({ ...each, closureId: id }));

const AT = '2026-12-01T12:00:00.000Z';
const start = {
  ...data,
  addedAt: AT,
  days: 4,
  closedDays: 0,
  openedDays: 0,
  leftOut: [],
  datesLeftOut: [],
  state: 'Working',
};
const documentAfter = (...events: readonly DomainEvent[]) => folded(closures, added, ...events)[id];

describe('a closure', () => {
  test('works until each of its days is closed, left out or, after its end, open', () => {
    expect(documentAfter()).toEqual(start);
    expect(documentAfter(...closed.slice(0, 3))).toEqual({ ...start, closedDays: 3 });
    expect(documentAfter(...closed)).toEqual({ ...start, closedDays: 4, state: 'Done' });
    expect(documentAfter(...closed, ended)).toEqual({ ...start, closedDays: 4, endedAt: AT, state: 'Working' });
    expect(documentAfter(...closed, ended, ...reopened.slice(1))).toMatchObject({
      openedDays: 3,
      state: 'Working',
      leftOut: [],
    });
    expect(documentAfter(...closed, ended, ...reopened)).toMatchObject({ openedDays: 4, state: 'Done', leftOut: [] });
    // An own event whose hours were not free on one day.
    expect(documentAfter(...closed.slice(1), ...reopened.slice(0, 1))).toEqual({
      ...start,
      ...{ closedDays: 3, openedDays: 1, leftOut: DAYS.slice(0, 1), state: 'Done' },
    });
  });
  test('works again while a date is left out on its spaces, and is to be ended without a day', () => {
    const left = [leftOut('2026-12-10'), ...reopened.slice(0, 1)];
    expect(documentAfter(...closed, leftOut('2026-12-10'))).toMatchObject({
      datesLeftOut: ['2026-12-10'],
      state: 'Working',
    });
    expect(documentAfter(...closed, ...left)).toMatchObject({ leftOut: DAYS.slice(0, 1), state: 'Working' });
    expect(documentAfter(...closed, ...left, ...reopened.slice(2, 3))).toMatchObject({
      ...{ closedDays: 4, openedDays: 2, datesLeftOut: ['2026-12-10'], state: 'Done' },
      leftOut: [DAYS[0], DAYS[2]],
    });
    const both = [...left, ...reopened.slice(2, 3), leftOut('2026-12-11')];
    expect(documentAfter(...closed, ...both)).toMatchObject({
      datesLeftOut: ['2026-12-10', '2026-12-11'],
      state: 'Working',
    });
    expect(documentAfter(...closed, ...both, ...reopened.slice(1, 2), ...reopened.slice(3))).toMatchObject({
      openedDays: 4,
      state: 'Working',
    });
  });
  test('names what has taken over its last day', () => {
    const replaced: DomainEvent = { type: 'ClosureEnded', data: { ...owner, replacedBy: closureId('c2') } };
    expect(documentAfter(replaced)).toEqual({ ...start, endedAt: AT, replacedBy: 'c2' });
  });
  test('has no document before it is added', () => {
    for (const event of [ended, leftOut('2026-12-10'), ...closed, ...reopened])
      expect(folded(closures, event)).toEqual({});
  });
});

test('it is done once its days are closed or left out, in any order of their events', () => {
  const parts = fc.subarray([0, 1, 2, 3], { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(parts, fc.array(fc.nat()), (closedOnes, order) => {
      const events = DAYS.map((_, index) => (closedOnes.includes(index) ? closed : reopened)[index]);
      const mixed = events.toSorted((a, b) => (order[events.indexOf(a)] ?? 0) - (order[events.indexOf(b)] ?? 0));
      const all = mixed.filter((event) => event !== undefined);
      expect(documentAfter(...all.slice(0, 3))).toMatchObject({ state: 'Working' });
      expect(documentAfter(...all)).toMatchObject({
        state: 'Done',
        closedDays: closedOnes.length,
        openedDays: 4 - closedOnes.length,
      });
    }),
  );
});
