import { expect, test } from 'vitest';
import { isAddress, normalisedEmail } from '../../src/domain/email-address.ts';

test.each([
  ['a right-to-left override', '\u202Eada@example.com'],
  ['marks of direction, as mail programs copy them', '\u202Aada@example.com\u202C'],
  ['a zero-width space', 'ada@exam\u200Bple.com'],
  ['a byte order mark and spaces', '\uFEFF Ada@Example.com '],
])('an address with %s is the address that it looks like', (_, typed) => {
  expect(isAddress(typed)).toBe(false);
  expect(normalisedEmail(typed)).toBe('ada@example.com');
});

test.each([
  '',
  'ada',
  '@',
  'ada@',
  'a@b@c',
  'a b@example.com',
  'a\r\n@example.com',
  'a\u0007@example.com',
  '<a@example.com>',
])('%j is no address', (text) => expect(isAddress(normalisedEmail(text))).toBe(false));

test.each(['ada@localhost', 'ada+tag@example.com', 'zoë@bücher.example', 'пример@пример.рф'])(
  '%j can be an address',
  (text) => expect(isAddress(normalisedEmail(text))).toBe(true),
);
