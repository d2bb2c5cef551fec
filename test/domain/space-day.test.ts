import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wallDay } from '../../src/domain/calendar.ts';
import { closeTime, reopenTime } from '../../src/domain/closed-time.ts';
import { type Decision, isRefusal } from '../../src/domain/decision.ts';
import type { BookingEvent, SpaceDayEvent } from '../../src/domain/events.ts';
import { bookedTime, closedTime, overlaps } from '../../src/domain/held-times.ts';
import { bookingId, brandId, closureId, communityId } from '../../src/domain/ids.ts';
import { requestBooking } from '../../src/domain/request-booking.ts';
import {
  approveBooking,
  cancelBooking,
  completeBooking,
  EMPTY_SPACE_DAY,
  evolveSpaceDay,
  expireBooking,
  findBooking,
  type SpaceDay,
} from '../../src/domain/space-day.ts';
import {
  acme,
  approved,
  at,
  cancelledByBrand,
  completed,
  context,
  day,
  hall,
  other,
  requestCommand,
  requested,
  timeClosed,
  timeReopened,
  underOtherRules,
} from './bookings.fixture.ts';
import { decider } from './given.ts';

const given = decider<SpaceDay, SpaceDayEvent>(EMPTY_SPACE_DAY, evolveSpaceDay);
const request =
  (fields = {}, when = context) =>
  (state: SpaceDay) =>
    requestBooking(state, requestCommand({ bookingId: bookingId(2), ...fields }), when);

describe('requesting a booking', () => {
  test('creates a Pending request with price, hours and deadline', () => {
    given()
      .when(request({ message: 'Hello' }))
      .thenEvents({
        type: 'BookingRequested',
        data: {
          bookingId: 2,
          spaceName: 'Great Hall',
          date: '2026-12-10',
          startHour: 10,
          endHour: 14,
          freeFrom: 14,
          eventFee: 20_000,
          serviceFee: 3_000,
          totalPrice: 23_000,
          message: 'Hello',
          startsAt: '2026-12-10T09:00:00.000Z',
          endsAt: '2026-12-10T13:00:00.000Z',
          expiresAt: '2026-12-04T11:00:00.000Z',
        },
      });
  });

  test('expires when the event starts if that is before the time to answer is over', () => {
    given()
      .when(request({ date: day('2026-12-02') }))
      .thenEvents({ data: { expiresAt: '2026-12-02T09:00:00.000Z' } });
  });

  test.each([
    ['the same hour', 10],
    ['an hour within it', 12],
    ['an hour whose event runs into it', 9],
    ['its last hour', 13],
  ])('is refused for %s', (_, startHour) => {
    given(requested())
      .when(request({ startHour }))
      .thenRefused('SlotUnavailable', /overlaps/);
  });

  test('may start when the previous one ends', () => {
    given(requested())
      .when(request({ startHour: 14 }))
      .thenEvents({ type: 'BookingRequested' });
  });

  test('an approved or completed booking blocks its hours; a cancelled one frees them', () => {
    given(requested(), approved()).when(request()).thenRefused('SlotUnavailable');
    given(requested(), cancelledByBrand()).when(request()).thenEvents({ type: 'BookingRequested' });
    given(requested(), approved(), completed()).when(request()).thenRefused('SlotUnavailable');
  });

  test('is allowed near the end of the window, with the hours that remain', () => {
    given()
      .when(request({ startHour: 20 }))
      .thenEvents({
        data: { startHour: 20, endHour: 23, usageHours: 2, freeFrom: 22, endsAt: '2026-12-10T21:00:00.000Z' },
      });
  });

  test.each([8, 22, 23, 0])('is refused when it starts at %i, outside the window', (startHour) => {
    given()
      .when(request({ startHour }))
      .thenRefused('SlotUnavailable', /outside the window: 9 to 21\./);
  });

  test('accepts an idempotency key of at most 255 characters, whichever way it comes in', () => {
    given()
      .when(request({ idempotencyKey: 'k'.repeat(256) }))
      .thenRefused('ValidationError', /255/);
    given()
      .when(request({ idempotencyKey: 'k'.repeat(255) }))
      .thenEvents({ type: 'BookingRequested' });
  });

  test('accepts a message of at most 500 characters', () => {
    given()
      .when(request({ message: 'm'.repeat(501) }))
      .thenRefused('ValidationError');
    given()
      .when(request({ message: 'm'.repeat(500) }))
      .thenEvents({ type: 'BookingRequested' });
  });

  test('is not allowed in an inactive space', () => {
    given()
      .when(request({ space: { ...hall, active: false } }))
      .thenRefused('BookingNotAllowed', /not taking bookings/);
  });

  test('is not allowed on a past date in the time zone of the space', () => {
    given()
      .when(request({ date: day('2026-11-30') }))
      .thenRefused('BookingNotAllowed', /past/);
    // 23:30 UTC is already the next day in Berlin.
    const late = { ...context, now: at('2026-12-09T23:30:00Z') };
    given()
      .when(request({ date: day('2026-12-09') }, late))
      .thenRefused('BookingNotAllowed', /today is 2026-12-10/);
    given()
      .when(request({ date: day('2026-12-10') }, late))
      .thenEvents({ type: 'BookingRequested' });
  });

  test('an hour of today that has begun is no longer available', () => {
    const noon = { ...context, now: at('2026-12-10T11:00:00Z') };
    given()
      .when(request({ startHour: 12 }, noon))
      .thenRefused('SlotUnavailable', /past/);
    given()
      .when(request({ startHour: 13 }, noon))
      .thenEvents({ type: 'BookingRequested' });
  });

  test('an hour that daylight saving time skips cannot be booked', () => {
    const space = { ...hall, windowStart: 0, durationHours: 1 };
    const date = day('2027-03-28');
    given()
      .when(request({ space, date, startHour: 2 }))
      .thenRefused('SlotUnavailable', /skipped/);
    given()
      .when(request({ space, date, startHour: 3 }))
      .thenEvents({ data: { startsAt: '2027-03-28T01:00:00.000Z' } });
  });

  test('an hour that occurs twice means the first occurrence', () => {
    const space = { ...hall, windowStart: 0, durationHours: 1 };
    given()
      .when(request({ space, date: day('2027-10-31'), startHour: 2 }))
      .thenEvents({ data: { startsAt: '2027-10-31T00:00:00.000Z', endsAt: '2027-10-31T01:00:00.000Z' } });
  });

  test('a fractional duration ends on a rounded hour, but frees the space to the quarter hour', () => {
    const space = { ...hall, durationHours: 2.5 };
    given()
      .when(request({ space, startHour: 10 }))
      .thenEvents({ data: { endHour: 13, freeFrom: 12.5 } });
    const first = requested({ space, startHour: 10 });
    given(first)
      .when(request({ space, startHour: 12 }))
      .thenRefused('SlotUnavailable');
    given(first)
      .when(request({ space, startHour: 13 }))
      .thenEvents({ type: 'BookingRequested' });
  });

  test('a repeated idempotency key creates nothing, even after the booking was cancelled', () => {
    const first = requested({ idempotencyKey: 'k' });
    given(first)
      .when(request({ idempotencyKey: 'k' }))
      .thenNothing();
    given(first, cancelledByBrand(first))
      .when(request({ idempotencyKey: 'k' }))
      .thenNothing();
  });

  test('an idempotency key is valid for one request of one brand', () => {
    const first = requested({ idempotencyKey: 'k' });
    const reused = given(first).when(request({ idempotencyKey: 'k', startHour: 15 }));
    reused.thenRefused('BookingNotAllowed', /Idempotency/);
    expect(reused.decision).toMatchObject({ reason: 'KeyReused' });
    given(first)
      .when(request({ idempotencyKey: 'k', message: 'x' }))
      .thenRefused('BookingNotAllowed');
    given(first)
      .when(request({ idempotencyKey: 'k', brand: other }))
      .thenRefused('SlotUnavailable');
  });
});

describe('approving', () => {
  const approve =
    (fields = {}, when = context) =>
    (state: SpaceDay) =>
      approveBooking(state, { bookingId: bookingId(1), communityId: hall.communityId, ...fields }, when);

  test('charges the price of the request', () => {
    given(requested())
      .when(approve())
      .thenEvents({ type: 'BookingApproved', data: { charge: 23_000, totalPrice: 23_000 } });
  });
  test('is refused unless the booking is Pending', () => {
    given(requested(), approved())
      .when(approve())
      .thenRefused('BookingNotAllowed', /is Approved/);
    given(requested(), cancelledByBrand())
      .when(approve())
      .thenRefused('BookingNotAllowed', /is Cancelled/);
    given(requested(), approved(), completed())
      .when(approve())
      .thenRefused('BookingNotAllowed', /is Completed/);
  });
  test("an unknown booking and another community's do not exist", () => {
    given().when(approve()).thenRefused('ResourceNotFound');
    given(requested())
      .when(approve({ communityId: communityId(2) }))
      .thenRefused('ResourceNotFound');
  });
  test('is refused from the answer deadline on, whether or not the request has been cancelled', () => {
    given(requested())
      .when(approve({}, { ...context, now: at('2026-12-04T10:59:59.999Z') }))
      .thenEvents({ type: 'BookingApproved' });
    for (const moment of ['2026-12-04T11:00:00Z', '2026-12-10T08:59:59Z'])
      given(requested())
        .when(approve({}, { ...context, now: at(moment) }))
        .thenRefused('BookingNotAllowed', /was to be answered by 2026-12-04T11:00:00\.000Z and cannot be approved/);
  });
  test('the hours of a request that is overdue stay taken until its cancellation is in the log', () => {
    const overdue = { ...context, now: at('2026-12-05T00:00:00Z') };
    given(requested()).when(request({}, overdue)).thenRefused('SlotUnavailable');
    const { decision } = given(requested()).when((state) => expireBooking(state, { bookingId: bookingId(1) }, overdue));
    if (isRefusal(decision)) throw new Error(decision.details);
    given(requested(), ...decision)
      .when(request({}, overdue))
      .thenEvents({ type: 'BookingRequested' });
  });
  test('is refused once the event has started', () => {
    given(requested())
      .when(approve({}, { ...context, now: at('2026-12-10T09:00:00Z') }))
      .thenRefused('BookingNotAllowed', /started/);
  });
});

describe('cancelling', () => {
  const cancel =
    (by: Parameters<typeof cancelBooking>[1]['by'], when = context) =>
    (state: SpaceDay) =>
      cancelBooking(state, { bookingId: bookingId(1), by, reason: 'Rain' }, when);
  const brand = { kind: 'Brand', id: acme.brandId } as const;
  const community = { kind: 'Community', id: hall.communityId } as const;

  test('cancelling a request costs nothing; an approved booking is refunded', () => {
    given(requested())
      .when(cancel(brand))
      .thenEvents({ data: { cancelledBy: 'Brand', reason: 'Rain', refund: 0 } });
    given(requested(), approved())
      .when(cancel(community))
      .thenEvents({ data: { cancelledBy: 'Community', refund: 23_000 } });
  });
  test('accepts a reason of at most 500 characters', () => {
    const because = (length: number) => (state: SpaceDay) =>
      cancelBooking(
        state,
        { bookingId: bookingId(1), by: { kind: 'Brand', id: acme.brandId }, reason: 'r'.repeat(length) },
        context,
      );
    given(requested()).when(because(501)).thenRefused('ValidationError');
    given(requested()).when(because(500)).thenEvents({ type: 'BookingCancelled' });
  });

  test('is refused when the booking is over', () => {
    given(requested(), cancelledByBrand())
      .when(cancel(brand))
      .thenRefused('BookingNotAllowed', /is Cancelled/);
    given(requested(), approved(), completed())
      .when(cancel(brand))
      .thenRefused('BookingNotAllowed', /is Completed/);
  });
  test('is refused when the status of the booking has changed since the decision', () => {
    const decidedFor = (expected: 'Pending' | 'Approved') => (state: SpaceDay) =>
      cancelBooking(state, { bookingId: bookingId(1), by: community, reason: 'Rain', expected }, context);
    given(requested())
      .when(decidedFor('Pending'))
      .thenEvents({ data: { refund: 0 } });
    given(requested(), approved())
      .when(decidedFor('Pending'))
      .thenRefused('BookingNotAllowed', /is Approved, no longer Pending/);
    given(requested(), approved())
      .when(decidedFor('Approved'))
      .thenEvents({ data: { refund: 23_000 } });
  });
  test('is refused to the brand once its deadline has passed, which the booking keeps; the community still may', () => {
    const booked = requested({ space: { ...hall, cancelHours: 48 } });
    const [before, after] = ['2026-12-08T08:59:59Z', '2026-12-08T09:00:00Z'].map((iso) => ({
      ...context,
      now: at(iso),
    }));
    const free = { ...approved(booked) };
    given(booked, free).when(cancel(brand, before)).thenEvents({ type: 'BookingCancelled' });
    given(booked, free)
      .when(cancel(brand, after))
      .thenRefused('BookingNotAllowed', /until 2026-12-08T09:00:00\.000Z/);
    given(booked, free).when(cancel(community, after)).thenEvents({ type: 'BookingCancelled' });
  });
  test('is refused once the event has started', () => {
    const started = { ...context, now: at('2026-12-10T09:00:00Z') };
    given(requested(), approved())
      .when(cancel(brand, started))
      .thenRefused('BookingNotAllowed', /started/);
  });
  test("another account's booking does not exist", () => {
    given(requested())
      .when(cancel({ kind: 'Brand', id: brandId(99) }))
      .thenRefused('ResourceNotFound');
    given(requested())
      .when(cancel({ kind: 'Community', id: communityId(99) }))
      .thenRefused('ResourceNotFound');
    given().when(cancel(brand)).thenRefused('ResourceNotFound');
  });
});

describe('closed times', () => {
  const close =
    (event = timeClosed()) =>
    (state: SpaceDay) =>
      closeTime(state, event.data, hall);
  const reopen =
    (event = timeReopened()) =>
    (state: SpaceDay) =>
      reopenTime(state, event.data);

  test('refuse requests until they end, and leave bookings that are there', () => {
    given(timeClosed())
      .when(request())
      .thenRefused('SlotUnavailable', /closed/);
    given(timeClosed(), timeReopened()).when(request()).thenEvents({ type: 'BookingRequested' });
    const approve = (state: SpaceDay) =>
      approveBooking(state, { bookingId: bookingId(1), communityId: hall.communityId }, context);
    given(requested(), timeClosed()).when(approve).thenEvents({ type: 'BookingApproved' });
    // Still closed after a booking inside it was cancelled.
    given(requested(), timeClosed(), cancelledByBrand())
      .when(request())
      .thenRefused('SlotUnavailable', /closed/);
  });
  test('too little notice is refused with the moment from which it suffices', () => {
    given()
      .when(request({ space: { ...hall, noticeHours: 240 } }))
      .thenRefused('BookingNotAllowed', /240 hours ahead: now, those that start after 2026-12-11T11:00:00\.000Z/);
  });
  test('a repeated request gets its first answer on a day that has been closed since', () => {
    given(requested({ idempotencyKey: 'k' }), timeClosed())
      .when(request({ idempotencyKey: 'k' }))
      .thenNothing();
  });
  test('close over bookings, once for each closure', () => {
    given(requested()).when(close()).thenEvents({ type: 'TimeClosed' });
    given(timeClosed()).when(close()).thenNothing();
    given(timeClosed())
      .when(close(timeClosed({ closureId: closureId('c2') })))
      .thenEvents({ data: { closureId: 'c2' } });
  });
  test('an own event needs free hours', () => {
    const own = { kind: 'OwnEvent', closureId: closureId('c2'), start: 13.5, until: 15 } as const;
    given(requested())
      .when(close(timeClosed(own)))
      .thenRefused('SlotUnavailable', /13:30–15:00 on 2026-12-10/);
    given(timeClosed({ start: 14, until: 16 }))
      .when(close(timeClosed(own)))
      .thenRefused('SlotUnavailable');
    given(requested())
      .when(close(timeClosed({ ...own, start: 14 })))
      .thenEvents({ type: 'TimeClosed' });
  });
  test('a closure that has ended on a day never closes it again, even if it had not closed it', () => {
    given(timeClosed()).when(reopen()).thenEvents({ type: 'TimeReopened' });
    given().when(reopen()).thenEvents({ type: 'TimeReopened' });
    given(timeReopened()).when(reopen()).thenNothing();
    given(timeReopened()).when(close()).thenRefused('ResourceNotFound', /ended/);
  });
});

describe('the scheduler', () => {
  const moment = (iso: string) => ({ now: at(iso) });
  test('cancels a request once its time to answer is over, and not before', () => {
    const expire = (when: { now: number }) => (state: SpaceDay) =>
      expireBooking(state, { bookingId: bookingId(1) }, when);
    given(requested())
      .when(expire(moment('2026-12-04T10:59:59Z')))
      .thenNothing();
    given(requested())
      .when(expire(moment('2026-12-04T11:00:00Z')))
      .thenEvents({ data: { cancelledBy: 'System', refund: 0 } });
    given(requested(), approved())
      .when(expire(moment('2027-01-01T00:00:00Z')))
      .thenNothing();
    given()
      .when(expire(moment('2027-01-01T00:00:00Z')))
      .thenNothing();
  });
  test('completes an approved booking once it has ended, and not before', () => {
    const complete = (when: { now: number }) => (state: SpaceDay) =>
      completeBooking(state, { bookingId: bookingId(1) }, when);
    given(requested(), approved())
      .when(complete(moment('2026-12-10T12:59:59Z')))
      .thenNothing();
    given(requested(), approved())
      .when(complete(moment('2026-12-10T13:00:00Z')))
      .thenEvents({ type: 'BookingCompleted' });
    given(requested())
      .when(complete(moment('2027-01-01T00:00:00Z')))
      .thenNothing();
  });
  test('a completed booking keeps the time free that follows it', () => {
    const space = { ...hall, gapHours: 2 };
    // The event was from 10:00 to 14:00, which is 13:00 UTC.
    const day = given(requested(), approved(), completed());
    const from = (startHour: number) => (state: SpaceDay) =>
      requestBooking(state, requestCommand({ bookingId: bookingId(2), space, startHour }), {
        ...context,
        ...moment('2026-12-10T13:00:00Z'),
      });
    day.when(from(15)).thenRefused('SlotUnavailable', /or the 2 hours to keep free around bookings/);
    day.when(from(16)).thenEvents({ type: 'BookingRequested' });
    const own = { kind: 'OwnEvent', start: 15, until: 16 } as const;
    day.when((state) => closeTime(state, timeClosed(own).data, space)).thenRefused('SlotUnavailable', /booking #1/);
  });
});

describe('a booking whose stored moments follow other time-zone rules than those in force', () => {
  // 10:00 to 14:00 in Berlin, now 09:00Z to 13:00Z. The longest change is that of a zone that crosses the date line.
  const when = (iso: string) => ({ ...context, now: at(iso) });
  const id = bookingId(1);
  const made = (fields: Parameters<typeof requested>[0], hours: number): BookingEvent => ({
    type: 'BookingRequested',
    data: underOtherRules(requested(fields).data, hours),
  });
  describe.each([-24, -1, 1, 24])('%i hours away', (hours) => {
    const booked = made({}, hours);
    const approve = (iso: string) => (state: SpaceDay) =>
      approveBooking(state, { bookingId: id, communityId: hall.communityId }, when(iso));
    const cancel = (iso: string) => (state: SpaceDay) =>
      cancelBooking(state, { bookingId: id, by: { kind: 'Brand', id: acme.brandId } }, when(iso));
    const complete = (iso: string) => (state: SpaceDay) => completeBooking(state, { bookingId: id }, when(iso));
    const expire = (iso: string) => (state: SpaceDay) => expireBooking(state, { bookingId: id }, when(iso));

    test('is approved and cancelled until the hour strikes today, and not after', () => {
      // It can be answered until then.
      const soon = made({ date: day('2026-12-02') }, hours);
      for (const decide of [approve, cancel]) {
        given(soon)
          .when(decide('2026-12-02T08:59:59Z'))
          .thenEvents({ data: { bookingId: id } });
        given(soon)
          .when(decide('2026-12-02T09:00:00Z'))
          .thenRefused('BookingNotAllowed', /started/);
      }
    });
    test('is completed when its last hour is over today', () => {
      given(booked, approved()).when(complete('2026-12-10T12:59:59Z')).thenNothing();
      given(booked, approved()).when(complete('2026-12-10T13:00:00Z')).thenEvents({ type: 'BookingCompleted' });
    });
    test('expires so many hours after the request, or at its start today', () => {
      given(booked).when(expire('2026-12-04T10:59:59Z')).thenNothing();
      given(booked).when(expire('2026-12-04T11:00:00Z')).thenEvents({ type: 'BookingCancelled' });
      const tomorrow = made({ date: day('2026-12-02') }, hours);
      given(tomorrow).when(expire('2026-12-02T08:59:59Z')).thenNothing();
      given(tomorrow).when(expire('2026-12-02T09:00:00Z')).thenEvents({ type: 'BookingCancelled' });
    });
  });
});

describe('a day on which one hour is requested and cancelled again and again', () => {
  const pairs = (count: number): BookingEvent[] =>
    Array.from({ length: count }, (_, index) => {
      const data = { ...requested().data, bookingId: bookingId(index + 1), idempotencyKey: `key-${index + 1}` };
      const request: BookingEvent = { type: 'BookingRequested', data };
      return [request, cancelledByBrand({ type: 'BookingRequested', data })];
    }).flat();

  /** How many entries of maps are written while `run` runs, those of copies included. */
  function entriesWritten(run: () => void): number {
    const { set } = Map.prototype;
    let written = 0;
    Map.prototype.set = function (this: Map<unknown, unknown>, key, value) {
      written += 1;
      return set.call(this, key, value);
    };
    try {
      run();
    } finally {
      Map.prototype.set = set;
    }
    return written;
  }

  test('folds with the same work per event, however many there are', () => {
    const fold = (count: number) => {
      const events = pairs(count);
      return entriesWritten(() => events.reduce(evolveSpaceDay, EMPTY_SPACE_DAY));
    };
    const once = fold(500);
    expect(once).toBeGreaterThanOrEqual(500);
    expect(fold(1_000)).toBeLessThanOrEqual(2 * once);
  });

  test('decides without looking at the bookings that were cancelled', () => {
    const state = pairs(500).reduce(evolveSpaceDay, EMPTY_SPACE_DAY);
    expect(state.held.size).toBe(0);
    expect(state.cancelled.size).toBe(500);
  });

  test('keeps the first answers of cancelled bookings, and why they cannot be cancelled', () => {
    const again = given(...pairs(3));
    again.when(request({ bookingId: bookingId(9), idempotencyKey: 'key-2' })).thenNothing();
    const cancel = (state: SpaceDay) =>
      cancelBooking(state, { bookingId: bookingId(2), by: { kind: 'Brand', id: acme.brandId } }, context);
    again.when(cancel).thenRefused('BookingNotAllowed', /is Cancelled/);
  });
});

/** The content of a day, in values that later events cannot change. */
const written = (state: SpaceDay, ids: number) =>
  JSON.stringify([
    [...state.held],
    [...state.closed],
    Array.from({ length: ids }, (_, id) => findBooking(state, bookingId(id)) ?? null),
  ]);

test('the live bookings and own events of a day never overlap, and no earlier state of it changes, for any commands in any order', () => {
  const step = fc.record({
    what: fc.constantFrom('request', 'approve', 'cancel', 'own', 'reopen'),
    id: fc.integer({ min: 1, max: 12 }),
    startHour: fc.integer({ min: 0, max: 23 }),
    durationHours: fc.constantFrom(0.25, 1, 2.5, 4, 13),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let state = EMPTY_SPACE_DAY;
      const earlier: { readonly state: SpaceDay; readonly text: string }[] = [];
      let next = 1;
      for (const { what, id, startHour, durationHours } of steps) {
        const space = { ...hall, durationHours };
        const closure = {
          closureId: closureId(`c${id}`),
          start: startHour,
          until: startHour + 1,
          kind: 'OwnEvent',
        } as const;
        const decisions = {
          request: () =>
            requestBooking(state, requestCommand({ bookingId: bookingId(next++), space, startHour }), context),
          approve: () => approveBooking(state, { bookingId: bookingId(id), communityId: hall.communityId }, context),
          cancel: () =>
            cancelBooking(state, { bookingId: bookingId(id), by: { kind: 'Brand', id: acme.brandId } }, context),
          own: () => closeTime(state, timeClosed(closure).data, hall),
          reopen: () => reopenTime(state, timeReopened(closure).data),
        };
        const decision: Decision<SpaceDayEvent> = decisions[what]();
        earlier.push({ state, text: written(state, 50) });
        if (!isRefusal(decision)) state = decision.reduce(evolveSpaceDay, state);
      }
      for (const before of earlier) expect(written(before.state, 50)).toBe(before.text);
      const date = wallDay(day('2026-12-10'), hall.timeZone);
      const live = [...state.held.values()].map(({ request }) => bookedTime(date, request));
      live.push(...[...state.closed.values()].map((hours) => closedTime(date, hours)));
      for (const [index, a] of live.entries())
        for (const b of live.slice(index + 1)) expect(overlaps(a, b)).toBe(false);
    }),
  );
});
