import { expect, test } from 'vitest';
import { foreignName } from '../../src/mail/compose/foreign-name.ts';

/** Without the marks that keep the direction of a name. */
const plain = (name: string): string => foreignName(name).replaceAll(/[\u2066-\u2069]/g, '');

test.each([
  ['Harbour Lofts', '“Harbour Lofts”'],
  ["St. Mary's Hall, No. 3.5", "“St. Mary's Hall, No. 3.5”"],
  ['Sign in at https://evil.example/x?y', '“Sign in at https[:]//evil[.]example/x?y”'],
  ['www.evil.example', '“www[.]evil[.]example”'],
  ['10.0.0.1/login', '“10[.]0[.]0[.]1/login”'],
  ['evil。example', '“evil[.]example”'],
  ['help@evil.example', '“help[at]evil[.]example”'],
  ['mailto:x', '“mailto[:]x”'],
  ['Lofts” from “Venue Booking', "“Lofts' from 'Venue Booking”"],
  ['a\r\n\r\nYour password: \u202Etxt', '“a Your password: txt”'],
])('%j is written %j', (name, written) => expect(plain(name)).toBe(written));

test('a name has at most 60 characters, and is not cut within one', () => {
  expect(plain('x'.repeat(100))).toBe(`“${'x'.repeat(59)}…”`);
  expect([...plain('👩‍👩‍👧‍👦'.repeat(30))].length).toBeLessThanOrEqual(62);
});
