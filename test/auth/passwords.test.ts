import { expect, test } from 'vitest';
import { hashPassword, isPassword } from '../../src/auth/passwords.ts';

test('one who signs in does not wait behind the many sign-ins of another block of addresses', async () => {
  const hash = await hashPassword('correct horse battery');
  const done: string[] = [];
  const attempt = async (from: string, password: string) => {
    const isRight = await isPassword(password, hash, from);
    done.push(from);
    return isRight;
  };
  // Each from an address of its own.
  const guesses = Array.from({ length: 30 }, (_, index) => attempt(`203.0.113.${index}`, `guess ${index}`));
  const changes = [attempt('2001:db8:1:1::1', 'guess'), attempt('2001:db8:1:2::1', 'guess'), hashPassword('new one')];
  const own = attempt('198.51.100.7', 'correct horse battery');
  expect(await own).toBe(true);
  // Two that had begun, and one or two of each other block.
  expect(done.length).toBeLessThan(9);
  // On a busy machine, the turn of the last guesses does not come in time.
  const ends = await Promise.all(guesses.map((guess) => guess.catch(() => false)));
  expect(ends).toEqual(Array(30).fill(false));
  await Promise.all(changes);
});
