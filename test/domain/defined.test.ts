import { expect, test } from 'vitest';
import { defined } from '../../src/domain/defined.ts';
import { picked } from '../../src/domain/picked.ts';

test('defined omits undefined fields and nothing else', () => {
  const fields = defined({ a: 0, b: '', c: false, d: null, e: undefined });
  expect(fields).toStrictEqual({ a: 0, b: '', c: false, d: null });
});

test('picked takes the named fields, in their order', () => {
  const source: { readonly a: number; readonly b?: string; readonly c: number } = { c: 3, a: 1 };
  expect(Object.entries(picked(source, ['a', 'b', 'c']))).toEqual([
    ['a', 1],
    ['c', 3],
  ]);
});
