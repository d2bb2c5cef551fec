import { describe, expect, test } from 'vitest';
import { closeOrLeaveOut, closeTime, notFree, obstacleTo } from '../../src/domain/closed-time.ts';
import type { Decision } from '../../src/domain/decision.ts';
import type { SpaceDayEvent, TimeClosed } from '../../src/domain/events.ts';
import { closureId } from '../../src/domain/ids.ts';
import { EMPTY_SPACE_DAY, evolveSpaceDay, type SpaceDay } from '../../src/domain/space-day.ts';
import { hall, requested, timeClosed, timeReopened } from './bookings.fixture.ts';
import { decider } from './given.ts';

const given = decider<SpaceDay, SpaceDayEvent>(EMPTY_SPACE_DAY, evolveSpaceDay);
const dayAfter = (...events: readonly SpaceDayEvent[]) => events.reduce(evolveSpaceDay, EMPTY_SPACE_DAY);
/** From 15 to 16 o'clock. The booking of these tests is from 10 to 14. */
const own = (fields: Partial<TimeClosed['data']> = {}) =>
  timeClosed({ kind: 'OwnEvent', start: 15, until: 16, closureId: closureId('c2'), ...fields });
const fifty = Array.from({ length: 50 }, (_, index) => timeClosed({ closureId: closureId(`other-${index}`) }));

describe('what keeps a closed time or an own event from its hours', () => {
  const obstacle = (data: TimeClosed['data'], events: readonly SpaceDayEvent[], terms = {}, replaced?: string) =>
    obstacleTo(
      data,
      dayAfter(...events),
      { ...hall, ...terms },
      replaced === undefined ? undefined : closureId(replaced),
    );
  const booking = requested();

  test.each([
    ['nothing', own(), [booking], {}, undefined],
    ['a booking', own({ start: 13 }), [booking], {}, { booking: booking.data }],
    ['the gap after a booking', own(), [booking], { gapHours: 1.25 }, { booking: booking.data }],
    ['not a gap that ends with it', own(), [booking], { gapHours: 1 }, undefined],
    [
      'a closed time',
      own(),
      [timeClosed({ start: 15.5 })],
      { gapHours: 4 },
      { closed: timeClosed({ start: 15.5 }).data },
    ],
    ['not a closed time beside it', own(), [timeClosed({ start: 16 })], { gapHours: 4 }, undefined],
    ['not what has ended', own(), [timeClosed(), timeReopened()], {}, undefined],
    ['fifty others', own(), fifty, {}, 'Full'],
    ['fifty others, for a closed time', timeClosed(), fifty, {}, 'Full'],
    ['not forty-nine, for a closed time', timeClosed(), fifty.slice(1), {}, undefined],
    ['not a booking, for a closed time', timeClosed(), [booking], {}, undefined],
  ])('%s', (_, { data }, events, terms, expected) => {
    expect(obstacle(data, events, terms)).toEqual(expected);
  });

  test('not what it replaces, which must be there', () => {
    const other = own({ closureId: closureId('c1') });
    expect(obstacle(own().data, [other], {}, 'c1')).toBeUndefined();
    expect(obstacle(own().data, [other])).toEqual({ closed: other.data });
    expect(obstacle(own().data, [], {}, 'c1')).toBe('NotItsDay');
    expect(obstacle(timeClosed().data, [...fifty.slice(1), other], {}, 'c1')).toBeUndefined();
  });

  test('hours that the clocks skip', () => {
    const night = own({ date: '2027-03-28' as TimeClosed['data']['date'], start: 2, until: 3 });
    expect(obstacle(night.data, [])).toBe('Skipped');
    expect(obstacle({ ...night.data, until: 4 }, [])).toBeUndefined();
  });
});

test('a refusal says what holds the hours', () => {
  const details = (obstacle: Parameters<typeof notFree>[1], gapHours?: number, title?: string) =>
    notFree(own().data, obstacle, { ...hall, ...(gapHours !== undefined && { gapHours }) }, title).details;
  const booking = { booking: requested().data };
  expect(details('Full')).toBe('2026-12-10 has 50 closed times and own events, as many as a day may.');
  expect(details('NotItsDay')).toBe('2026-12-10 is not one of its days any more.');
  expect(details('Skipped')).toBe('15:00–16:00 on 2026-12-10 does not exist: the clocks skip it.');
  const held = '15:00–16:00 on 2026-12-10 is not free: booking #1 of Acme, 10:00–14:00';
  for (const none of [undefined, 0]) expect(details(booking, none)).toBe(`${held}.`);
  expect(details(booking, 0.5)).toBe(`${held}, with 0.5 hours to keep free around it.`);
  expect(details({ closed: own().data }, 0, 'Choir')).toBe(
    '15:00–16:00 on 2026-12-10 is not free: another own event, “Choir”, 15:00–16:00.',
  );
  expect(details({ closed: timeClosed().data })).toBe(
    '15:00–16:00 on 2026-12-10 is not free: a closed time, 00:00–24:00.',
  );
});

describe('a day of a closure', () => {
  type Close = typeof closeTime;
  const closing =
    (close: Close, event: TimeClosed, replaced?: string) =>
    (day: SpaceDay): Decision<SpaceDayEvent> =>
      close(day, event.data, hall, replaced === undefined ? undefined : closureId(replaced));
  const leftOut = { type: 'TimeReopened', data: timeReopened({ closureId: closureId('c2') }).data };

  test('is closed, or left out for good where that cannot be', () => {
    given().when(closing(closeOrLeaveOut, own())).thenEvents(own());
    given(own()).when(closing(closeOrLeaveOut, own())).thenNothing();
    expect(given(timeClosed()).when(closing(closeOrLeaveOut, own())).decision).toEqual([leftOut]);
    given(timeReopened({ closureId: closureId('c2') }))
      .when(closing(closeOrLeaveOut, own()))
      .thenRefused('ResourceNotFound');
  });
  test('is taken over from another one in the same append', () => {
    const other = own({ closureId: closureId('c1') });
    const events = [{ type: 'TimeReopened', data: timeReopened().data }, own()];
    for (const close of [closeTime, closeOrLeaveOut])
      expect(given(other).when(closing(close, own(), 'c1')).decision).toEqual(events);
    given()
      .when(closing(closeTime, own(), 'c1'))
      .thenRefused('SlotUnavailable', /not one of its days/);
    expect(given().when(closing(closeOrLeaveOut, own(), 'c1')).decision).toEqual([leftOut]);
  });
});
