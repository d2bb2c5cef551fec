import { expect, test } from 'vitest';
import { createSignInAttempts } from '../../src/authorization-server/sign-in-attempts.ts';

test('all spellings of an e-mail that find the same user are counted together', () => {
  const attempts = createSignInAttempts(3);
  expect(attempts.begin('ren\u00e9e@example.com')).toBe(true);
  expect(attempts.begin('rene\u0301e@example.com')).toBe(true);
  expect(attempts.begin('  REN\u00c9E@example.com ')).toBe(true);
  expect(attempts.begin('ren\u00e9e@example.com')).toBe(false);
  expect(attempts.begin('renee@example.com')).toBe(true);
});

test('the right password resets the count', () => {
  const attempts = createSignInAttempts(1);
  attempts.begin('ada@example.com');
  attempts.succeeded('Ada@example.com');
  expect(attempts.begin('ada@example.com')).toBe(true);
});
