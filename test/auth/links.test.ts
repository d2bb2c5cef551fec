import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLinks, type LinkPurpose } from '../../src/auth/links.ts';

const key = randomBytes(32);
const NOW = Date.parse('2026-11-27T12:00:00.000Z');
const HOUR = 3_600_000;
const LINK = {
  purpose: 'reset',
  id: 'usr_a-B_c9',
  until: NOW + HOUR,
  state: ['2026-01-01', 'ada@example.com'],
} as const;

const linksAt = (now: number, secretKey: Parameters<typeof createLinks>[0]['secretKey'] = key) =>
  createLinks({ secretKey, clock: () => now });

/** The purpose that a token proves; undefined if it does not work. */
function purposeOf(
  token: string,
  changed: { now?: number; of?: readonly LinkPurpose[]; state?: readonly string[] } = {},
) {
  const links = linksAt(changed.now ?? NOW);
  const link = links.read(token);
  return link && links.purposeOf(link, changed.of ?? ['reset'], changed.state ?? LINK.state);
}

test('the same link can be made again, and works until it ends', () => {
  const token = linksAt(NOW).make(LINK);
  expect(linksAt(NOW + 60_000).make(LINK)).toBe(token);
  expect(token).not.toContain('ada');
  expect(linksAt(NOW).read(token)).toMatchObject({ id: LINK.id, until: LINK.until });
  expect(purposeOf(token)).toBe('reset');
  expect(purposeOf(token, { now: NOW + HOUR - 1 })).toBe('reset');
  expect(purposeOf(token, { now: NOW + HOUR })).toBeUndefined();
});

test('a link for one purpose, user or state works for no other', () => {
  const token = linksAt(NOW).make(LINK);
  expect(purposeOf(token, { of: ['address', 'invitation', 'reset by operator'] })).toBeUndefined();
  expect(purposeOf(token, { of: ['reset by operator', 'reset'] })).toBe('reset');
  expect(purposeOf(token, { state: ['2026-01-02', 'ada@example.com'] })).toBeUndefined();
  // Parts of the state cannot be moved between fields.
  expect(purposeOf(token, { state: ['2026-01-01ada@example.com', ''] })).toBeUndefined();
  expect(purposeOf(token.replace('usr_a', 'usr_b'))).toBeUndefined();
  const later = linksAt(NOW).make({ ...LINK, until: NOW + 2 * HOUR });
  const [id, , code] = token.split('.');
  expect(purposeOf([id, later.split('.')[1], code].join('.'))).toBeUndefined();
});

test('no altered token works', () => {
  const token = linksAt(NOW).make(LINK);
  for (let at = 0; at < token.length; at += 1) {
    for (const instead of ['A', 'z', '.', '~', '']) {
      const altered = token.slice(0, at) + instead + token.slice(at + 1);
      // The last character of a code holds two bits that no byte has.
      if (altered !== token && at < token.length - 1) expect(purposeOf(altered), altered).toBeUndefined();
    }
  }
  for (const other of ['', '.', '..', token.slice(0, -1), `${token}A`, `${token} `, 'x'.repeat(10_000), '\u0000'])
    expect(purposeOf(other)).toBeUndefined();
});

test('a former secret key still checks links, and the first one makes them', () => {
  const next = randomBytes(32);
  const token = linksAt(NOW).make(LINK);
  const rotated = linksAt(NOW, [next, key]);
  const read = rotated.read(token);
  expect(read && rotated.purposeOf(read, ['reset'], LINK.state)).toBe('reset');
  expect(rotated.make(LINK)).toBe(linksAt(NOW, next).make(LINK));
  const replaced = linksAt(NOW, next);
  expect(read && replaced.purposeOf(read, ['reset'], LINK.state)).toBeUndefined();
});
