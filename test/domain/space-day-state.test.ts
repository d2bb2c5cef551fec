import { expect, test } from 'vitest';
import type { SpaceDayEvent } from '../../src/domain/events.ts';
import { bookingId } from '../../src/domain/ids.ts';
import { requestBooking } from '../../src/domain/request-booking.ts';
import { EMPTY_SPACE_DAY, evolveSpaceDay, findBooking, type SpaceDay } from '../../src/domain/space-day.ts';
import { approved, context, requestCommand, requested } from './bookings.fixture.ts';
import { decider } from './given.ts';

const given = decider<SpaceDay, SpaceDayEvent>(EMPTY_SPACE_DAY, evolveSpaceDay);
const request = () => (state: SpaceDay) => requestBooking(state, requestCommand(), context);

test('a booking is at the revision of its event, and a day counts all of its events', () => {
  const second = requested({ bookingId: bookingId(2), startHour: 15 });
  const state = [requested(), approved(), second].reduce(evolveSpaceDay, EMPTY_SPACE_DAY);
  expect(state.events).toBe(3);
  expect([1, 2].map((id) => findBooking(state, bookingId(id))?.revision)).toEqual([0, 2]);
  expect(evolveSpaceDay(EMPTY_SPACE_DAY, approved())).toEqual({ ...EMPTY_SPACE_DAY, events: 1 });
});

test('a request with personal details is repeated if their digest is the same', () => {
  const first = requested({ idempotencyKey: 'k', message: 'Hi' });
  const sealed = { ...first, data: { ...first.data, fingerprint: 'f' } };
  const again = (fingerprint: string) => (state: SpaceDay) =>
    requestBooking(state, { ...requestCommand({ idempotencyKey: 'k', message: 'Hi' }), fingerprint }, context);
  given(sealed).when(again('f')).thenNothing();
  given(sealed)
    .when(again('g'))
    .thenRefused('BookingNotAllowed', /already used/);
});

test('a request without a key is never a repetition', () => {
  given(requested({ idempotencyKey: 'undefined' }))
    .when(request())
    .thenRefused('SlotUnavailable');
});
