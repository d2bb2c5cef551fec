import { expect, test } from 'vitest';
import { textProblem } from '../../src/domain/unicode.ts';

test('finds an unusable text at any depth, and names its field', () => {
  expect(textProblem({ a: [{ b: 'fine' }, { b: '\0' }] }, 'The body')).toBe('b must not have the character U+0000');
  expect(textProblem({ a: { '\ud800': 1 } }, 'The body')).toMatch(/^A name in a must be Unicode/);
});

test('the bytes of a file are not walked as if they were properties', () => {
  // Listing their properties would take more memory than there is.
  expect(textProblem({ file: new Uint8Array(2 ** 28), name: 'events.csv' }, 'The body')).toBeUndefined();
});
