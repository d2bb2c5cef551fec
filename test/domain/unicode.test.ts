import { expect, test } from 'vitest';
import { LONGEST_TEXT, textProblem, UnusableText } from '../../src/domain/unicode.ts';

test('finds an unusable text at any depth, and names its field', () => {
  expect(textProblem({ a: [{ b: 'fine' }, { b: '\0' }] }, 'The body')).toBe('b must not have the character U+0000');
  expect(textProblem({ a: { '\ud800': 1 } }, 'The body')).toMatch(/^A name in a must be Unicode/);
});

test('the bytes of a file are not walked as if they were properties', () => {
  // Listing their properties would take more memory than there is.
  expect(textProblem({ file: new Uint8Array(2 ** 28), name: 'events.csv' }, 'The body')).toBeUndefined();
});

test('a text of more than 10,000 characters is refused, as is a name', () => {
  const text = 'x'.repeat(10_000);
  expect(LONGEST_TEXT).toBe(10_000);
  expect(textProblem({ a: text, [text]: 1 }, 'The body')).toBeUndefined();
  expect(textProblem({ a: `${text}x` }, 'The body')).toBe('a must have at most 10000 characters');
  expect(textProblem({ [`${text}x`]: 1 }, 'The body')).toBe('A name in The body must have at most 10000 characters');
  expect(new UnusableText()).toMatchObject({ statusCode: 400, code: 'UNUSABLE_TEXT' });
});
