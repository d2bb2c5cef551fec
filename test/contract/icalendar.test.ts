import { expect, test } from 'vitest';
import { calendarFile } from '../../src/contract/icalendar.ts';
import { timestamp } from '../../src/domain/ids.ts';

const event = {
  uid: 'booking-1@log',
  start: Date.parse('2026-12-20T09:00:00Z'),
  end: Date.parse('2026-12-20T13:00:00Z'),
  createdAt: timestamp('2026-12-01T12:00:00.000Z'),
  changedAt: timestamp('2026-12-01T12:00:00.500Z'),
  isTentative: false,
  summary: 'Hall',
};

test.each([
  ['Ann', 'Ann'],
  // RFC 6868: what looks like a line break or a quote in a parameter is none.
  ['Ann ^n', 'Ann ^^n'],
  ['"Ann"\r\nX-Evil: 1', "^'Ann^'X-Evil: 1"],
])('the name %j of an organizer stays the value of its parameter', (name, parameter) => {
  const file = calendarFile([event], { name, address: 'a@venue.example' });
  expect(file).toContain(`\r\nORGANIZER;CN="${parameter}":mailto:a@venue.example\r\n`);
});

test('a cancellation within the second of the creation still has a higher sequence', () => {
  const organizer = { name: '', address: 'a@venue.example' };
  expect(calendarFile([event], organizer)).toContain('\r\nSEQUENCE:0\r\n');
  expect(calendarFile([{ ...event, isCancelled: true }], organizer)).toContain('\r\nSEQUENCE:1\r\n');
});
