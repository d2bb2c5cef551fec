import { expect, test } from 'vitest';
import { parseAmount } from '../../src/domain/pricing.ts';

test.each([
  ['0', 0],
  ['150', 150_00],
  ['150.5', 150_50],
  ['150.50', 150_50],
  ['150,50', 150_50],
  ['1234.50', 1_234_50],
  // As the rule of a fee and every price on a page write it.
  ['1,234.50', 1_234_50],
  ['1,234', 1_234_00],
  ['12,345,678.90', 12_345_678_90],
  ['100,000,000.00', 100_000_000_00],
])('an amount is read from %s', (text, cents) => {
  expect(parseAmount(text)).toBe(cents);
});

test.each([
  '',
  '1.234', // 1.23 or 1,234?
  '1.234,50',
  '0,123', // A fraction of three digits, or a thousand that begins with 0?
  '01,234',
  '1,2345',
  '12,34,567',
  '1234,567',
  '1,234,50',
  '1,234.5.0',
  '1.234.567',
  '1 234.50',
  '1,234.',
  '.50',
  ',50',
  '-1',
  '1e3',
  '٣٫٥',
  '1,234.505',
  '12345678901',
  '12,345,678,901.00',
])('“%s” is refused, because it is no amount or ambiguous', (text) => {
  expect(parseAmount(text)).toBeUndefined();
});
