import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AvailabilityDocument, availability } from '../../projections/availability.ts';
import { periodsOf } from '../../src/console/calendar/plan-periods.ts';
import { endOf, startOf } from '../../src/domain/booking-moments.ts';
import { closeTime, reopenTime } from '../../src/domain/closed-time.ts';
import { isOpenDay, isWithinHours } from '../../src/domain/day-terms.ts';
import { type Decision, isRefusal } from '../../src/domain/decision.ts';
import { type BookingRequested, SCHEMA, type SpaceDayEvent, type TimeClosed } from '../../src/domain/events.ts';
import {
  type BookingId,
  bookingId,
  type ClosureId,
  closureId,
  type PlainDate,
  timestamp,
} from '../../src/domain/ids.ts';
import { requestBooking } from '../../src/domain/request-booking.ts';
import type { Space } from '../../src/domain/space.ts';
import {
  approveBooking,
  cancelBooking,
  EMPTY_SPACE_DAY,
  evolveSpaceDay,
  type SpaceDay,
} from '../../src/domain/space-day.ts';
import { timeSlots } from '../../src/domain/time-slots.ts';
import { context, day, hall, requestCommand, timeClosed, timeReopened } from './bookings.fixture.ts';

const HOUR_MS = 3_600_000;

const RECORDED = {
  id: '',
  stream: '',
  revision: 0,
  position: '',
  metadata: {
    at: timestamp('2026-12-01T11:00:00.000Z'),
    actor: { kind: 'operator', id: 'test' },
    correlationId: '',
    schema: SCHEMA,
  },
} as const;

/** A day of a space as its stream and its read model hold it. */
function dayOf(space: Space, date: PlainDate) {
  let state: SpaceDay = EMPTY_SPACE_DAY;
  let document: AvailabilityDocument | undefined;
  let nextId = 1;

  /** The events of a decision, which are then part of the day. None if it was refused. */
  function taken<E extends SpaceDayEvent>(decision: Decision<E>): readonly E[] {
    if (isRefusal(decision)) return [];
    for (const event of decision) {
      state = evolveSpaceDay(state, event);
      document = availability.evolve(document, { ...RECORDED, ...event });
    }
    return decision;
  }
  const decide = (startHour: number) =>
    requestBooking(state, requestCommand({ bookingId: bookingId(nextId), space, date, startHour }), context);

  return {
    request(startHour: number): BookingRequested | undefined {
      const [event] = taken(decide(startHour));
      nextId += 1;
      return event?.type === 'BookingRequested' ? event : undefined;
    },
    close(fields: Partial<TimeClosed['data']>) {
      const [event] = taken(closeTime(state, timeClosed({ date, ...fields }).data, space));
      return event;
    },
    reopen: (id: ClosureId) => taken(reopenTime(state, timeReopened({ date, closureId: id }).data)),
    approve: (id: BookingId) =>
      taken(approveBooking(state, { bookingId: id, communityId: space.communityId }, context)),
    cancel: (id: BookingId) =>
      taken(cancelBooking(state, { bookingId: id, by: { kind: 'Community', id: space.communityId } }, context)),
    /** The hours at which a request would be accepted. */
    accepted: () => HOURS.filter((hour) => !isRefusal(decide(hour))),
    /** The hours that availability shows as open. */
    open: () => slots().flatMap(({ hour, isAvailable }) => (isAvailable ? [hour] : [])),
    usage: (hour: number) => slots().find((slot) => slot.hour === hour)?.usageHours,
  };

  function slots() {
    return timeSlots(space, date, document ?? { taken: [], closed: [] }, context.now);
  }
}

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

const spaceIn = (timeZone: string, fields: Partial<Space> = {}): Space => ({
  ...hall,
  timeZone,
  windowStart: 0,
  windowEnd: 23,
  durationHours: 1,
  ...fields,
});
const SPRING = ['Europe/Berlin', day('2027-03-28')] as const;
const AUTUMN = ['Europe/Berlin', day('2027-10-31')] as const;
const own = (start: number, until: number, id = 'own'): Partial<TimeClosed['data']> => ({
  kind: 'OwnEvent',
  start,
  until,
  closureId: closureId(id),
});

describe('in the night in which the clocks skip an hour', () => {
  test.each([
    [...SPRING, 1.5, [4, 5]],
    ['America/New_York', day('2027-03-14'), 1.25, [4, 5]],
    ['America/New_York', day('2027-03-14'), 1.75, [4, 5]],
    // Only half an hour is skipped.
    ['Australia/Lord_Howe', day('2027-10-03'), 1.5, [3, 4]],
  ])('%s, %s: %d hours from 1:00 last as long, and nothing starts within them', (zone, date, hours, next) => {
    const space = dayOf(spaceIn(zone, { durationHours: hours }), date);
    const first = space.request(1);
    if (first === undefined) throw new Error('It was refused');
    expect((endOf(first.data) - startOf(first.data)) / HOUR_MS).toBe(hours);
    expect((Date.parse(first.data.endsAt) - Date.parse(first.data.startsAt)) / HOUR_MS).toBe(hours);
    expect(space.open()).toEqual(space.accepted());
    expect(space.open().slice(0, 2)).toEqual(next);
  });

  test('the end is given as the clock shows it, and endHour as the specification has it', () => {
    const first = dayOf(spaceIn(SPRING[0], { durationHours: 1.5 }), SPRING[1]).request(1);
    expect(first?.data).toMatchObject({ endHour: 3, freeFrom: 3.5, endsAt: '2027-03-28T01:30:00.000Z' });
  });

  test('a gap of an hour is an hour', () => {
    const space = dayOf(spaceIn(SPRING[0], { gapHours: 1 }), SPRING[1]);
    space.request(1);
    expect(space.open().slice(0, 2)).toEqual([4, 5]);
    expect(space.request(3)).toBeUndefined();
    expect(space.request(4)).toBeDefined();
  });

  test('an event that the window cuts has the hours that pass until then', () => {
    const space = dayOf(spaceIn(SPRING[0], { durationHours: 3, windowEnd: 4 }), SPRING[1]);
    expect([0, 1, 3].map(space.usage)).toEqual([undefined, 2, 1]);
    expect(space.request(1)?.data).toMatchObject({ usageHours: 2, freeFrom: 4, endsAt: '2027-03-28T02:00:00.000Z' });
  });

  test('an own event in the skipped hour is refused, and one around it keeps what is left', () => {
    const space = dayOf(spaceIn(SPRING[0]), SPRING[1]);
    expect(space.close(own(2, 3))).toBeUndefined();
    expect(space.close(own(1, 3))).toBeDefined();
    expect(space.open().slice(0, 2)).toEqual([0, 3]);
  });

  test('two hours are skipped at the station Troll', () => {
    const space = dayOf(spaceIn('Antarctica/Troll', { durationHours: 1.5 }), day('2027-03-28'));
    // From 0:00 to 1:00, then from 3:00 to 3:30.
    expect(space.request(0)?.data.freeFrom).toBe(3.5);
    expect(space.open().slice(0, 2)).toEqual([4, 5]);
    expect(space.close(own(2, 3))).toBeUndefined();
  });
});

describe('in the night in which an hour occurs twice', () => {
  test('what is free does not count as taken', () => {
    const space = dayOf(spaceIn(AUTUMN[0], { durationHours: 2 }), AUTUMN[1]);
    // Until 2:00 for the second time, an hour before 3:00.
    expect(space.request(1)?.data).toMatchObject({ endsAt: '2027-10-31T01:00:00.000Z', freeFrom: 3 });
    expect(space.open().slice(0, 2)).toEqual([3, 4]);
    const withGap = dayOf(spaceIn(AUTUMN[0], { durationHours: 2, gapHours: 1 }), AUTUMN[1]);
    withGap.request(1);
    expect(withGap.request(3)).toBeDefined();
  });

  test('an event that runs into the repeated hour ends an hour earlier by the clock', () => {
    const space = dayOf(spaceIn(AUTUMN[0], { durationHours: 4 }), AUTUMN[1]);
    expect(space.request(0)?.data).toMatchObject({ endHour: 4, freeFrom: 3, endsAt: '2027-10-31T02:00:00.000Z' });
    expect(space.request(3)).toBeDefined();
  });

  test('the window leaves an hour more', () => {
    const space = dayOf(spaceIn(AUTUMN[0], { durationHours: 4, windowEnd: 4 }), AUTUMN[1]);
    expect([1, 2].map(space.usage)).toEqual([undefined, 3]);
  });

  test('an own event of the repeated hour has both of its hours', () => {
    const space = dayOf(spaceIn(AUTUMN[0], { durationHours: 1 }), AUTUMN[1]);
    expect(space.close(own(2, 3))).toBeDefined();
    expect(space.open().slice(0, 3)).toEqual([0, 1, 3]);
  });
});

test('whether a booking keeps to new hours, and a day has open hours, is a matter of moments', () => {
  const space = spaceIn(SPRING[0], { durationHours: 2 });
  const booked = dayOf(space, SPRING[1]).request(1)?.data;
  if (booked === undefined) throw new Error('It was refused');
  // It ends at 4:00.
  const keeps = (windowEnd: number) => isWithinHours({ ...space, windowEnd }, booked);
  expect([3, 4].map(keeps)).toEqual([false, true]);

  const night = { ...space, windowEnd: 3 };
  expect(isOpenDay(night, SPRING[1], [{ start: 0, until: 2 }])).toBe(false);
  expect(isOpenDay(night, day('2027-03-27'), [{ start: 0, until: 2 }])).toBe(true);
  expect(isOpenDay({ ...night, windowStart: 2 }, SPRING[1], [])).toBe(false);
});

test('the plan of the day has no free hour where the clocks skip it', () => {
  const row = { terms: spaceIn(SPRING[0]), space: spaceIn(SPRING[0]), bookings: [], closures: [] };
  const periods = (date: PlainDate) =>
    periodsOf(row, date, { first: 0, end: 23, step: 1 }).map(({ from, until, holder }) => [from, until, holder?.kind]);
  expect(periods(SPRING[1])).toEqual([
    [0, 2, undefined],
    [2, 3, 'Shut'],
    [3, 23, undefined],
  ]);
  expect(periods(AUTUMN[1])).toEqual([[0, 23, undefined]]);
});

test('the gap is kept between bookings and own events, whichever comes first, and not between own events', () => {
  const space = spaceIn('Europe/Berlin', { gapHours: 1.5 });
  const ownFirst = dayOf(space, day('2026-12-10'));
  expect(ownFirst.close(own(10, 12))).toBeDefined();
  expect(ownFirst.open()).toEqual(HOURS.filter((hour) => hour < 8 || (hour > 13 && hour < 23)));
  expect(ownFirst.open()).toEqual(ownFirst.accepted());
  expect(ownFirst.close(own(12, 13, 'next'))).toBeDefined();

  const bookingFirst = dayOf(space, day('2026-12-10'));
  expect(bookingFirst.request(10)).toBeDefined();
  expect(bookingFirst.close(own(12, 13))).toBeUndefined();
  expect(bookingFirst.close(own(8, 9))).toBeUndefined();
  expect(bookingFirst.close(own(13, 14))).toBeDefined();
  // A closed time has none.
  expect(bookingFirst.close({ kind: 'Closure', start: 5, until: 6 })).toBeDefined();
  expect(bookingFirst.open()).toContain(6);
});

test('a request of the moment at which the zone changes holds the time at which it was requested', () => {
  const date = day('2026-12-10');
  // 10:00 to 12:00 in Dubai is 7:00 to 9:00 in Berlin.
  const before = spaceIn('Asia/Dubai', { durationHours: 2 });
  const decision = requestBooking(EMPTY_SPACE_DAY, requestCommand({ space: before, date, startHour: 10 }), context);
  if (isRefusal(decision)) throw new Error(decision.details);
  const state = decision.reduce<SpaceDay>(evolveSpaceDay, EMPTY_SPACE_DAY);
  const space = spaceIn('Europe/Berlin', { durationHours: 2 });
  const isOpen = (startHour: number) =>
    !isRefusal(requestBooking(state, requestCommand({ bookingId: bookingId(2), space, date, startHour }), context));
  expect([5, 6, 7, 8, 9, 10].filter(isOpen)).toEqual([5, 9, 10]);
  const closed = timeClosed({ ...own(8, 10), date }).data;
  expect(closeTime(state, closed, space)).toMatchObject({ refused: 'SlotUnavailable' });
});

/** Zones whose clocks change within two years, with the dates of these changes. */
const CHANGES = Intl.supportedValuesOf('timeZone').flatMap((zone) => {
  const from = Temporal.PlainDate.from('2026-12-02').toZonedDateTime(zone);
  const to = from.add({ years: 2 });
  const changes: Temporal.ZonedDateTime[] = [];
  for (let at = from.getTimeZoneTransition('next'); at !== null; at = at.getTimeZoneTransition('next')) {
    if (Temporal.ZonedDateTime.compare(at, to) > 0) break;
    changes.push(at);
  }
  return changes.map((at) => ({ zone, at }));
});

/** By another way than the service: the first moment at which the clock shows an hour of a day, or a later one. */
function momentBy({ zone, date }: { readonly zone: string; readonly date: PlainDate }, hour: number): number {
  const wanted = Temporal.PlainDate.from(date).toPlainDateTime().add({ hours: hour });
  const earlier = wanted.toZonedDateTime(zone, { disambiguation: 'earlier' });
  if (earlier.toPlainDateTime().equals(wanted)) return earlier.epochMilliseconds;
  return earlier.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.NaN;
}

const existsBy = ({ zone, date }: { readonly zone: string; readonly date: PlainDate }, hour: number): boolean => {
  const wanted = Temporal.PlainDate.from(date).toPlainDateTime().add({ hours: hour });
  return wanted.toZonedDateTime(zone, { disambiguation: 'earlier' }).toPlainDateTime().equals(wanted);
};

type Held = { readonly from: number; readonly until: number; readonly what: 'Booking' | 'OwnEvent' | 'Closure' };

const { CLOCK_CHANGE_CASES = '250', CLOCK_CHANGE_SEED } = process.env;
const CASES = Number(CLOCK_CHANGE_CASES);

test(`around every change of a clock, what is accepted never overlaps, has its full length, and is what availability shows (${CASES} cases)`, () => {
  expect(new Set(CHANGES.map(({ zone }) => zone)).size).toBeGreaterThan(50);
  const night = fc.integer({ min: 0, max: 6 });
  const hour = fc.oneof({ weight: 3, arbitrary: night }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 23 }) });
  const quarters = (most: number) => fc.integer({ min: 1, max: most * 4 }).map((count) => count / 4);
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ what: fc.constant('request' as const), hour }) },
    {
      weight: 2,
      arbitrary: fc.record({
        what: fc.constantFrom('OwnEvent' as const, 'Closure' as const),
        hour,
        length: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('free' as const), index: fc.nat(9) }) },
  );
  const someDay = fc.record({
    change: fc.constantFrom(...CHANGES),
    days: fc.constantFrom(0, 0, 0, -1, 1),
    windowStart: fc.constantFrom(0, 0, 1, 2, 9),
    windowHours: fc.integer({ min: 1, max: 23 }),
    durationHours: fc.oneof(quarters(4), quarters(23)),
    gapHours: fc.oneof(fc.constant(0), quarters(4)),
    steps: fc.array(step, { maxLength: 8 }),
  });
  fc.assert(
    fc.property(someDay, ({ change, days, windowStart, windowHours, durationHours, gapHours, steps }) => {
      const { zone, at } = change;
      const date = day(at.toPlainDate().add({ days }).toString());
      const windowEnd = Math.min(23, windowStart + windowHours);
      const space = spaceIn(zone, { windowStart, windowEnd, durationHours, gapHours });
      const where = { zone, date };
      const use = (startHour: number) => {
        const from = momentBy(where, startHour);
        return { from, until: Math.min(from + durationHours * HOUR_MS, momentBy(where, windowEnd)) };
      };
      /** Everything that holds time now, by id. */
      const held = new Map<string, Held>();
      const touches = (a: Omit<Held, 'what'>, b: Omit<Held, 'what'>, gap: number) =>
        a.from < b.until + gap && b.from < a.until + gap;
      const gapBetween = (...both: readonly Held['what'][]) =>
        both.includes('Booking') && !both.includes('Closure') ? gapHours * HOUR_MS : 0;
      const isFree = (wanted: Held) =>
        [...held.values()].every((other) => !touches(wanted, other, gapBetween(wanted.what, other.what)));
      const tested = dayOf(space, date);

      steps.forEach((one, index) => {
        if (one.what === 'request') {
          const event = tested.request(one.hour);
          if (event === undefined) return;
          const wanted: Held = { ...use(one.hour), what: 'Booking' };
          expect([startOf(event.data), endOf(event.data)]).toEqual([wanted.from, wanted.until]);
          expect([event.data.startsAt, event.data.endsAt].map((text) => Date.parse(text))).toEqual([
            wanted.from,
            wanted.until,
          ]);
          const length = (wanted.until - wanted.from) / HOUR_MS;
          expect(event.data.usageHours ?? durationHours).toBe(length);
          expect(isFree(wanted)).toBe(true);
          held.set(`b${event.data.bookingId}`, wanted);
        } else if (one.what === 'free') {
          const id = [...held.keys()][one.index];
          if (id === undefined) return;
          if (id.startsWith('b')) {
            tested.approve(bookingId(Number(id.slice(1))));
            tested.cancel(bookingId(Number(id.slice(1))));
          } else tested.reopen(closureId(id));
          held.delete(id);
        } else {
          const until = Math.min(24, one.hour + one.length);
          const wanted: Held = { from: momentBy(where, one.hour), until: momentBy(where, until), what: one.what };
          const id = `c${index}`;
          const event = tested.close({ kind: one.what, start: one.hour, until, closureId: closureId(id) });
          const isWanted = one.what === 'Closure' || (wanted.from < wanted.until && isFree(wanted));
          expect(event !== undefined).toBe(isWanted);
          if (event !== undefined && wanted.from < wanted.until) held.set(id, wanted);
        }
      });

      const isOpen = (startHour: number) =>
        startHour >= windowStart &&
        startHour < windowEnd &&
        existsBy(where, startHour) &&
        isFree({ ...use(startHour), what: 'Booking' });
      const expected = HOURS.filter(isOpen);
      expect(tested.accepted()).toEqual(expected);
      expect(tested.open()).toEqual(expected);
    }),
    { numRuns: CASES, ...(CLOCK_CHANGE_SEED && { seed: Number(CLOCK_CHANGE_SEED) }) },
  );
});
