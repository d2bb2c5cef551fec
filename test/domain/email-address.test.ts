import { expect, test } from 'vitest';
import { isAddress, isSafeForSmtp, normalisedEmail } from '../../src/domain/email-address.ts';

test.each([
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
  'a@b.example@c',
  `${'a'.repeat(243)}@example.com`,
  'a b@example.com',
  'a\r\n@example.com',
  'a\u0007@example.com',
  '<a@example.com>',
  'a@localhost',
  'a@[1.2.3.4]',
  'a@1.2.3.4',
  'a@-x',
  'a@-x.example',
  'a@x-.example',
  'a@x..example',
  'a@x.example.',
  'a@x?subject=x',
  'a@x.example?subject=x',
  'a?b@x.example&c',
  'a(b)@example.com',
  'a,b@example.com',
  'a@exa_mple.com',
  'a@example.c',
  // An address that reads as another one.
  '\u202Eada@example.com',
  'ada@\u202Dexample.com',
])('%j is no address', (text) => expect(isAddress(normalisedEmail(text))).toBe(false));

test.each([
  'ada+tag@example.com',
  "o'hara@example.com",
  'a..b@example.com',
  'ada@xn--mnchen-3ya.example',
  'zoë@bücher.example',
  'пример@пример.рф',
])('%j can be an address', (text) => expect(isAddress(normalisedEmail(text))).toBe(true));

test('mail can still go to addresses that users had before, but never to what could end a command', () => {
  for (const known of ['ada@localhost', 'ada@[1.2.3.4]', 'ada@example.com']) expect(isSafeForSmtp(known)).toBe(true);
  for (const evil of ['a>@b', 'a@b\r\nRCPT TO:<c@d>', 'a b@c', 'a@b@c', '']) expect(isSafeForSmtp(evil)).toBe(false);
});
