import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import type { BookingEvent, SpaceDayEvent } from '../../src/domain/events.ts';
import { bookingId, cents, communityId, moveId, spaceId } from '../../src/domain/ids.ts';
import {
  type AnswerMove,
  answerMove,
  bringBooking,
  leaveHours,
  type MoveBooking,
  moveBooking,
} from '../../src/domain/move-booking.ts';
import { requestBooking } from '../../src/domain/request-booking.ts';
import { approveBooking, EMPTY_SPACE_DAY, evolveSpaceDay, type SpaceDay } from '../../src/domain/space-day.ts';
import {
  acme,
  approved,
  at,
  cancelledByBrand,
  context,
  day,
  hall,
  other,
  requestCommand,
  requested,
  timeClosed,
} from './bookings.fixture.ts';
import { decider } from './given.ts';

const given = decider<SpaceDay, SpaceDayEvent>(EMPTY_SPACE_DAY, evolveSpaceDay);
const stateOf = (...events: readonly SpaceDayEvent[]) => events.reduce(evolveSpaceDay, EMPTY_SPACE_DAY);

const studio = {
  ...hall,
  spaceId: spaceId(8),
  name: 'Studio',
  durationHours: 2,
  cancelHours: 24,
  eventFee: cents(50_000),
};
const byBrand = { kind: 'Brand', id: acme.brandId } as const;
const byHouse = { kind: 'Community', id: hall.communityId } as const;
const FIRST = moveId('m1');

const move =
  (fields: Partial<MoveBooking> & { readonly startHour?: number } = {}, when = context) =>
  (state: SpaceDay) => {
    const { startHour = 15, ...command } = fields;
    const to = { space: hall, date: day('2026-12-10'), startHour };
    return moveBooking(state, { bookingId: bookingId(1), by: byBrand, moveId: FIRST, to, ...command }, when);
  };

const answer =
  (fields: Partial<AnswerMove> = {}, when = context) =>
  (state: SpaceDay) =>
    answerMove(state, { bookingId: bookingId(1), by: byHouse, moveId: FIRST, ...fields }, when);

const accepting = { accepts: { space: hall, date: day('2026-12-10'), startHour: 15 } };
const elsewhere = (state = EMPTY_SPACE_DAY) => ({
  space: studio,
  date: day('2026-12-11'),
  startHour: 12,
  elsewhere: state,
});

/** The events of a decision, which must be accepted. */
function eventsOf(decision: ReturnType<ReturnType<typeof move>>): readonly BookingEvent[] {
  if (isRefusal(decision)) throw new Error(decision.details);
  return decision;
}

const asked = (fields: Parameters<typeof move>[0] = {}) => eventsOf(move(fields)(stateOf(requested(), approved())));

describe('the price of a move', () => {
  const dear = { ...hall, spaceId: spaceId(8), name: 'Studio', eventFee: cents(50_000) };
  const there = { space: dear, date: day('2026-12-11'), startHour: 15, elsewhere: EMPTY_SPACE_DAY };
  const proposed = (fields: Partial<MoveBooking> = {}) =>
    eventsOf(move({ by: byHouse, to: there, price: 'new', ...fields })(stateOf(requested())));

  test('a request that moves for the price there is approved and charged for it, on both days', () => {
    const [asked, ...others] = proposed();
    expect(others).toEqual([]);
    if (asked?.type !== 'BookingMoveAsked') throw new Error('The move was not asked for');
    const { newPrice } = asked.data;
    expect(newPrice?.eventFee).toBe(50_000);
    const before = stateOf(requested(), asked);
    const [agreed] = eventsOf(answer({ by: byBrand, accepts: there })(before));
    if (agreed === undefined) throw new Error('The move was not agreed to');
    const booking = stateOf(requested(), asked, agreed).held.get(bookingId(1));
    if (booking?.move === undefined) throw new Error('The booking does not move');
    const come = bringBooking(EMPTY_SPACE_DAY, { booking, move: booking.move, space: dear }, context);
    expect(come).toMatchObject([
      { type: 'BookingMoved', data: { ...newPrice, spaceId: 8 } },
      { type: 'BookingApproved', data: { charge: newPrice?.totalPrice, totalPrice: newPrice?.totalPrice } },
    ]);
  });

  test('is that which was agreed with the brand, and none where it is the same', () => {
    const agreed = { fees: [{ spaceId: spaceId(8), eventFee: cents(100) }] };
    expect(proposed({ agreed })).toMatchObject([{ data: { newPrice: { eventFee: 100 } } }]);
    const [same] = proposed({ to: { ...there, space: { ...dear, eventFee: hall.eventFee } } });
    expect(same?.data).not.toHaveProperty('newPrice');
  });

  test('is another one than that of a move which waits for the agreed price', () => {
    const before = stateOf(requested(), ...proposed());
    expect(move({ to: there })(before)).toMatchObject({ refused: 'BookingNotAllowed' });
    expect(move({ to: there, price: 'new' })(before)).toMatchObject([{ type: 'BookingMoveAgreed' }]);
    // The same party replaces its own.
    expect(move({ by: byHouse, to: there })(before)).toMatchObject([{ type: 'BookingMoveAsked' }]);
    expect(move({ by: byHouse, to: there, price: 'new' })(before)).toEqual([]);
  });

  test('of a booking that was charged stays, also if it was approved while the move waited', () => {
    const wanted = { by: byHouse, to: there, price: 'new' } as const;
    expect(move(wanted)(stateOf(requested(), approved()))).toMatchObject({ refused: 'BookingNotAllowed' });
    const before = stateOf(requested(), ...proposed(), approved());
    expect(answer({ by: byBrand, accepts: there })(before)).toMatchObject({ refused: 'BookingNotAllowed' });
  });

  test('is refused if it is another than the party has seen', () => {
    const seen = move({ by: byHouse, to: there, price: 'new', seenFee: cents(1) })(stateOf(requested()));
    expect(seen).toMatchObject({ refused: 'BookingNotAllowed' });
  });
});

describe('a move that a party asks for', () => {
  test('waits for the other party, and the booking keeps its hours', () => {
    given(requested(), approved())
      .when(move())
      .thenEvents({
        type: 'BookingMoveAsked',
        data: {
          askedBy: 'Brand',
          startHour: 10,
          to: { spaceId: 7, spaceName: 'Great Hall', date: '2026-12-10', startHour: 15 },
        },
      });
    expect(stateOf(requested(), approved(), ...asked()).held.get(bookingId(1))).toMatchObject({
      request: { startHour: 10 },
      move: { isAgreed: false },
    });
  });

  test('may overlap the hours that the booking has now', () => {
    given(requested(), approved())
      .when(move({ startHour: 11 }))
      .thenEvents({ type: 'BookingMoveAsked' });
  });

  test.each([
    ['its own place', { startHour: 10 }, 'BookingNotAllowed', /already/],
    ['an hour outside the window', { startHour: 8 }, 'SlotUnavailable', /window/],
    ['an hour that is none', { startHour: 24 }, 'ValidationError', /startHour/],
    ['the past', { to: { ...elsewhere(), date: day('2026-11-30') } }, 'BookingNotAllowed', /past/],
    [
      'a space of another community',
      { to: { ...elsewhere(), space: { ...studio, communityId: communityId(2) } } },
      'ResourceNotFound',
      /no space 8/,
    ],
    [
      'a space that takes fewer guests',
      { to: { ...elsewhere(), space: { ...studio, facts: { standing: 5 } } } },
      'BookingNotAllowed',
      /at most 5/,
    ],
    [
      'a closed space',
      { to: { ...elsewhere(), space: { ...studio, active: false } } },
      'BookingNotAllowed',
      /not taking/,
    ],
    [
      'a taken hour',
      {
        to: elsewhere(
          stateOf(requested({ bookingId: bookingId(9), space: studio, date: day('2026-12-11'), startHour: 13 })),
        ),
      },
      'SlotUnavailable',
      /another booking/,
    ],
    [
      'an hour of a closed time',
      { to: elsewhere(stateOf(timeClosed({ spaceId: studio.spaceId, date: day('2026-12-11') }))) },
      'SlotUnavailable',
      /closed/,
    ],
    ['a reason that is too long', { reason: 'x'.repeat(501) }, 'ValidationError', /reason/],
  ] as const)('is refused to %s', (_, fields, code, details) => {
    given(requested({ guests: 10 }), approved())
      .when(move(fields))
      .thenRefused(code, details);
  });

  test('is refused to an hour that the clocks skip', () => {
    const night = { ...studio, windowStart: 1, windowEnd: 8 };
    const to = { space: night, date: day('2027-03-28'), startHour: 2, elsewhere: EMPTY_SPACE_DAY };
    given(requested(), approved())
      .when(move({ to }))
      .thenRefused('SlotUnavailable', /clock change/);
  });

  test('is refused for a booking that is cancelled, has begun or belongs to others', () => {
    given(requested(), cancelledByBrand())
      .when(move())
      .thenRefused('BookingNotAllowed', /Cancelled/);
    given(requested(), approved())
      .when(move({}, { ...context, now: at('2026-12-10T09:00:00Z') }))
      .thenRefused('BookingNotAllowed', /started/);
    given(requested(), approved())
      .when(move({ by: { kind: 'Brand', id: other.brandId } }))
      .thenRefused('ResourceNotFound');
  });

  test('keeps the notice of the space if the brand asks, not if the community proposes', () => {
    const space = { ...studio, noticeHours: 480 };
    given(requested(), approved())
      .when(move({ to: { ...elsewhere(), space } }))
      .thenRefused('BookingNotAllowed', /ahead/);
    given(requested(), approved())
      .when(move({ by: byHouse, to: { ...elsewhere(), space } }))
      .thenEvents({ type: 'BookingMoveAsked', data: { askedBy: 'Community' } });
  });

  test('asked for again changes nothing; another one takes its place', () => {
    given(requested(), approved(), ...asked())
      .when(move({ moveId: moveId('m2') }))
      .thenNothing();
    given(requested(), approved(), ...asked())
      .when(move({ moveId: moveId('m2'), startHour: 16 }))
      .thenEvents({ type: 'BookingMoveAsked', data: { moveId: 'm2' } });
  });

  test('of which both parties ask for the same is agreed; for another, the first has to be answered', () => {
    given(requested(), approved(), ...asked())
      .when(move({ by: byHouse }))
      .thenEvents({ type: 'BookingMoved' });
    given(requested(), approved(), ...asked())
      .when(move({ by: byHouse, startHour: 17 }))
      .thenRefused('BookingNotAllowed', /brand has asked .* at 15:00\. Answer that first/);
  });

  test('is carried out at once by a community that looks after the brand', () => {
    given(requested(), approved())
      .when(move({ by: byHouse, isKept: true }))
      .thenEvents({ type: 'BookingMoved' });
    given(requested(), approved())
      .when(move({ isKept: true }))
      .thenEvents({ type: 'BookingMoveAsked' });
    given(requested(), approved(), ...asked({ isKept: true }))
      .when(move({ isKept: true }))
      .thenNothing();
  });
});

describe('an answer', () => {
  test('moves the booking at once on the same day, for the price of the request', () => {
    given(requested({ message: 'Hello' }), approved(), ...asked())
      .when(answer(accepting))
      .thenEvents({
        type: 'BookingMoved',
        data: {
          startHour: 15,
          endHour: 19,
          status: 'Approved',
          totalPrice: 23_000,
          movedBy: 'Brand',
          from: { startHour: 10 },
        },
      });
  });

  test('that accepts approves a request', () => {
    given(requested(), ...asked())
      .when(answer(accepting))
      .thenEvents(
        { type: 'BookingMoved', data: { status: 'Pending' } },
        { type: 'BookingApproved', data: { charge: 23_000 } },
      );
    given(requested(), ...asked())
      .when(answer({ ...accepting, standing: 'turnedAway' }))
      .thenRefused('BookingNotAllowed', /turned this brand away/);
    given(requested(), ...asked())
      .when(answer(accepting, { ...context, now: at('2026-12-05T00:00:00Z') }))
      .thenRefused('BookingNotAllowed', /was to be answered/);
  });

  test('is refused if the hours were taken while the move waited', () => {
    given(requested(), approved(), ...asked(), requested({ bookingId: bookingId(2), startHour: 17 }))
      .when(answer(accepting))
      .thenRefused('SlotUnavailable', /another booking/);
  });

  test('has to come from the other party, and about the move that waits', () => {
    given(requested(), approved(), ...asked())
      .when(answer({ ...accepting, by: byBrand }))
      .thenRefused('BookingNotAllowed', /other party/);
    given(requested(), approved(), ...asked())
      .when(answer({ moveId: moveId('m0') }))
      .thenRefused('BookingNotAllowed', /not wait/);
    given(requested(), approved())
      .when(answer())
      .thenRefused('BookingNotAllowed', /not wait/);
  });

  test('can decline or withdraw, after which nothing waits', () => {
    for (const by of [byHouse, byBrand]) {
      const ended = eventsOf(answer({ by, reason: 'No' })(stateOf(requested(), approved(), ...asked())));
      expect(ended).toMatchObject([{ type: 'BookingMoveEnded', data: { endedBy: by.kind, reason: 'No' } }]);
      expect(stateOf(requested(), approved(), ...asked(), ...ended).held.get(bookingId(1))?.move).toBeUndefined();
    }
  });
});

describe('a move to another day', () => {
  const agreed = eventsOf(
    move({ by: byHouse, isKept: true, to: elsewhere() })(stateOf(requested({ message: 'Hi' }), approved())),
  );
  const home = stateOf(requested({ message: 'Hi' }), approved(), ...agreed);
  const booking = home.held.get(bookingId(1));
  if (booking?.move === undefined) throw new Error('It is not agreed');
  const arriving = { booking, move: booking.move, space: studio };
  const bring = (state: SpaceDay) => bringBooking(state, arriving, context);
  const leave = (arrival: Parameters<typeof leaveHours>[1]['arrival']) => (state: SpaceDay) =>
    leaveHours(state, { bookingId: bookingId(1), moveId: FIRST, arrival });

  test('is agreed on its day, decided on the other one, and then its hours are free', () => {
    expect(agreed).toMatchObject([{ type: 'BookingMoveAgreed', data: { spaceId: 7, to: { spaceId: 8 } } }]);
    given()
      .when(bring)
      .thenEvents({
        type: 'BookingMoved',
        data: {
          spaceId: 8,
          spaceName: 'Studio',
          date: '2026-12-11',
          startHour: 12,
          endHour: 14,
          durationHours: 2,
          cancelHours: 24,
          startsAt: '2026-12-11T11:00:00.000Z',
          endsAt: '2026-12-11T13:00:00.000Z',
          totalPrice: 23_000,
          from: { spaceId: 7, date: '2026-12-10', startHour: 10 },
        },
      });
    expect(JSON.stringify(bring(EMPTY_SPACE_DAY))).not.toContain('Hi');
    const left = leave('arrived')(home);
    expect(left).toMatchObject([{ type: 'HoursLeft', data: { spaceId: 7, date: '2026-12-10' } }]);
    expect(isRefusal(left) ? home : left.reduce(evolveSpaceDay, home).held.size).toBe(0);
  });

  test('is refused for good by a day that was taken: a process that is late brings nothing', () => {
    const taken = requested({ bookingId: bookingId(2), space: studio, date: day('2026-12-11'), startHour: 13 });
    const refused = bring(stateOf(taken));
    expect(refused).toMatchObject([
      { type: 'HoursRefused', data: { moveId: 'm1', reason: expect.stringMatching(/overlaps/) } },
    ]);
    const later = stateOf(taken, ...(isRefusal(refused) ? [] : refused), cancelledByBrand(taken));
    expect(bring(later)).toEqual([]);
    expect(later.arrivals.get(FIRST)).toEqual({ refusedFor: expect.stringMatching(/overlaps/) });
    given(requested(), approved(), ...agreed)
      .when(leave({ refusedFor: 'Taken' }))
      .thenEvents({ type: 'BookingMoveEnded', data: { endedBy: 'System', reason: 'Taken' } });
  });

  test('is carried out once, whoever repeats it', () => {
    const arrived = bring(EMPTY_SPACE_DAY);
    expect(bring(stateOf(...(isRefusal(arrived) ? [] : arrived)))).toEqual([]);
    given(requested(), approved()).when(leave('arrived')).thenNothing();
  });

  test('keeps the idempotency key of the request on the day that it leaves', () => {
    const keyed = requested({ idempotencyKey: 'k' });
    const state = stateOf(keyed, approved(keyed), ...agreed);
    const left = leave('arrived')(state);
    const after = isRefusal(left) ? state : left.reduce(evolveSpaceDay, state);
    const again = (fields = {}) =>
      requestBooking(after, requestCommand({ bookingId: bookingId(5), idempotencyKey: 'k', ...fields }), context);
    expect(again()).toEqual([]);
    expect(again({ startHour: 12 })).toMatchObject({ reason: 'KeyReused' });
  });

  test('leaves a booking on the new day that can be approved, cancelled and moved back', () => {
    const pending = stateOf(requested(), ...eventsOf(move({ to: elsewhere() })(stateOf(requested()))));
    const waiting = pending.held.get(bookingId(1));
    if (waiting?.move === undefined) throw new Error('It does not wait');
    const arrived = bringBooking(EMPTY_SPACE_DAY, { booking: waiting, move: waiting.move, space: studio }, context);
    const there = stateOf(...(isRefusal(arrived) ? [] : arrived));
    expect(there.held.get(bookingId(1))).toMatchObject({
      status: 'Approved',
      request: { date: '2026-12-11', startHour: 12 },
    });
    expect(approveBooking(there, { bookingId: bookingId(1), communityId: hall.communityId }, context)).toMatchObject({
      refused: 'BookingNotAllowed',
    });
    const back = { space: hall, date: day('2026-12-10'), startHour: 10, elsewhere: pending };
    expect(move({ to: back, by: byHouse, isKept: true, moveId: moveId('m2') })(there)).toMatchObject([
      { type: 'BookingMoveAgreed' },
    ]);
  });
});
