import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { communityId } from '../../src/domain/ids.ts';
import { foreignAccountName, foreignName } from '../../src/mail/compose/foreign-name.ts';

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

describe('the name of an account', () => {
  const NOON = Date.parse('2026-12-01T12:00:00Z');
  const account: Account = { kind: 'Community', id: communityId(3) };
  const written = async (name: string | undefined, former: string | undefined) => {
    const asked: string[] = [];
    const names = {
      name: async () => name,
      async formerName(_: Account, since: string) {
        asked.push(since);
        return former;
      },
    };
    const text = await foreignAccountName(names, account, NOON);
    return [text.replaceAll(/[\u2066-\u2069]/g, ''), ...asked];
  };
  const since = '2026-11-30T12:00:00.000Z';

  test('stands alone', async () => expect(await written('Mill', undefined)).toEqual(['“Mill”', since]));
  test('stands beside the one that it had until a day ago', async () => {
    expect(await written('Mill', 'Bank')).toEqual(['“Mill” (until recently “Bank”)', since]);
  });
  test('is a number where it has none', async () => {
    expect((await written(undefined, undefined))[0]).toContain('3');
  });
});
