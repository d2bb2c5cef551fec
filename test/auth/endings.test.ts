import { expect, test } from 'vitest';
import { createEndings, type Endings } from '../../src/auth/endings.ts';
import type { Account } from '../../src/domain/account.ts';
import { brandId } from '../../src/domain/ids.ts';
import { BY_OPERATOR } from './change-log.ts';

const USER = 'usr_1';
const brand: Account = { kind: 'Brand', id: brandId(7) };
const CHANGE = { changeId: 'c', account: brand, userId: USER };

/** What the end of a cause ends, in order, and whose. */
async function endedBy(end: (endings: Endings) => Promise<void>): Promise<string[]> {
  const ended: string[] = [];
  const ends =
    (what: string) =>
    async (...[of, account]: readonly unknown[]): Promise<void> => {
      const whose = [of, account].filter((each) => each !== undefined && each !== BY_OPERATOR);
      ended.push([what, ...whose.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))].join(' '));
    };
  await end(
    createEndings({
      revocation: {
        endSessionsOf: ends('sign-ins'),
        endAppsOf: ends('apps'),
        endAllOfUser: ends('sign-ins and apps'),
      },
      calendarFeeds: { endAllOf: ends('feeds') },
      sessions: { deleteAllOf: ends('sessions') },
      invitations: { withdrawLapsed: ends('lapsed invitations'), withdrawAll: ends('invitations') },
      checkedFiles: { deleteAllOf: ends('files') },
      signUps: { endOf: ends('sign-up') },
      preferences: { endOf: ends('preferences') },
      mail: { endAllOf: ends('mails'), forgetAddress: ends('kept mails to'), forgetTexts: ends('all kept mails') },
    }),
  );
  return ended;
}

test.each<[string, (endings: Endings) => Promise<void>, readonly string[]]>([
  [
    'a password',
    ({ ofChange }) => ofChange({ id: USER }, { type: 'PasswordChanged', data: CHANGE }, BY_OPERATOR),
    ['sign-ins usr_1'],
  ],
  [
    'a role',
    ({ ofChange }) =>
      ofChange({ id: USER }, { type: 'MemberRoleChanged', data: { ...CHANGE, role: 'Viewer' } }, BY_OPERATOR),
    ['lapsed invitations {"kind":"Brand","id":7}', 'apps usr_1 Brand:7'],
  ],
  [
    'a membership',
    ({ ofChange }) => ofChange({ id: USER }, { type: 'MemberRemoved', data: CHANGE }, BY_OPERATOR),
    [
      'lapsed invitations {"kind":"Brand","id":7}',
      'apps usr_1 Brand:7',
      'feeds usr_1 {"kind":"Brand","id":7}',
      'preferences usr_1 Brand:7',
      'files usr_1',
    ],
  ],
  [
    'a user',
    ({ ofUser }) => ofUser(USER, BY_OPERATOR),
    [
      'sign-up usr_1',
      'sign-ins and apps usr_1',
      'feeds usr_1',
      'preferences usr_1',
      'files usr_1',
      'mails usr_1',
      'sessions usr_1',
    ],
  ],
  [
    'an address',
    ({ ofAddress }) => ofAddress({ email: 'ada@example.com' }, BY_OPERATOR),
    ['invitations {"email":"ada@example.com"}', 'kept mails to ada@example.com'],
  ],
  [
    'the texts of a user',
    ({ ofTexts }) => ofTexts('user:usr_1', BY_OPERATOR),
    ['preferences usr_1', 'files usr_1', 'mails usr_1', 'all kept mails'],
  ],
  [
    'the texts of an account',
    ({ ofTexts }) => ofTexts('brand:7', BY_OPERATOR),
    ['invitations {"account":{"kind":"Brand","id":7}}', 'all kept mails'],
  ],
])('the end of %s ends all that belongs to it, and nothing else', async (_, end, expected) => {
  expect(await endedBy(end)).toEqual(expected);
});
