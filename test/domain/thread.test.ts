import { expect, test } from 'vitest';
import type { ThreadEvent } from '../../src/domain/events.ts';
import { bookingId, brandId, communityId, spaceId, type Timestamp } from '../../src/domain/ids.ts';
import { MAX_MESSAGES } from '../../src/domain/limits.ts';
import {
  evolveThread,
  isUnread,
  NO_THREAD,
  noteBooking,
  type ReadMarks,
  sendMessage,
  type Thread,
  withMark,
} from '../../src/domain/thread.ts';
import { decider } from './given.ts';

const BOOKING = { bookingId: bookingId(1), communityId: communityId(2), brandId: brandId(3), spaceId: spaceId(4) };
const given = decider<Thread, ThreadEvent>(NO_THREAD, evolveThread);
const send = (text: string) => (thread: Thread) => sendMessage(thread, BOOKING, { from: 'Brand', text });
const note = (text: string) => (thread: Thread) => noteBooking(thread, BOOKING, text);
const sent: ThreadEvent = { type: 'MessageSent', data: { ...BOOKING, from: 'Brand', text: 'Hello' } };
const noted: ThreadEvent = { type: 'BookingNoted', data: { ...BOOKING, note: 'Paid in cash' } };

test('a message has 1 to 4,000 characters, a note 1 to 2,000', () => {
  given().when(send('Hello')).thenEvents(sent);
  given()
    .when(send('😀'.repeat(4_000)))
    .thenEvents({ type: 'MessageSent' });
  given()
    .when(send('x'.repeat(4_001)))
    .thenRefused('ValidationError', /1 to 4000 characters/);
  given().when(send(' \n')).thenRefused('ValidationError');
  given().when(note('Paid in cash')).thenEvents(noted);
  given()
    .when(note('x'.repeat(2_001)))
    .thenRefused('ValidationError');
  given().when(note('')).thenRefused('ValidationError');
});

test('a booking has at most so many messages, and as many notes', () => {
  const messages = Array.from({ length: MAX_MESSAGES }, () => sent);
  given(...messages)
    .when(send('One more'))
    .thenRefused('BookingNotAllowed', /500 messages/);
  given(...messages)
    .when(note('Paid in cash'))
    .thenEvents(noted);
  given(...messages.map(() => noted))
    .when(note('One more'))
    .thenRefused('BookingNotAllowed', /500 notes/);
  given(...messages.slice(1))
    .when(send('Hello'))
    .thenEvents(sent);
});

const at = (day: number) => `2026-11-${String(day).padStart(2, '0')}T10:00:00.000Z` as Timestamp;
const mark = (id: number, day: number, since = at(1)) => ({ thread: bookingId(id), at: at(day), since });

test('a message of the other party is unread until it, or a later one, was read', () => {
  const message = { from: 'Brand', at: at(10) } as const;
  const about = bookingId(1);
  const house = { kind: 'Community', id: communityId(2) } as const;
  const brand = { kind: 'Brand', id: brandId(3) } as const;
  expect(isUnread(message, about, house, {})).toBe(true);
  expect(isUnread(message, about, brand, {})).toBe(false);
  expect(isUnread(message, about, house, withMark({}, mark(1, 9)))).toBe(true);
  expect(isUnread(message, about, house, withMark({}, mark(2, 10)))).toBe(true);
  expect(isUnread(message, about, house, withMark({}, mark(1, 10)))).toBe(false);
});

test('marks never go back, and the oldest are forgotten', () => {
  const marks = withMark({}, mark(1, 10));
  expect(withMark(marks, mark(1, 9))).toBe(marks);
  expect(withMark(marks, mark(1, 10))).toBe(marks);
  expect(withMark(marks, mark(2, 12, at(11)))).toEqual({ 2: at(12) });
  let many: ReadMarks = {};
  for (let id = 1; id <= 501; id += 1)
    many = withMark(many, {
      ...mark(id, 10),
      at: new Date(id * 1_000).toISOString() as Timestamp,
      since: '' as Timestamp,
    });
  expect(Object.keys(many)).toHaveLength(500);
  expect(many[1]).toBeUndefined();
});
