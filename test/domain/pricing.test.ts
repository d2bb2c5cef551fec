import { expect, test } from 'vitest';
import { cents } from '../../src/domain/ids.ts';
import { priceOf, toAmount } from '../../src/domain/pricing.ts';

test.each([
  [20_000, 15, 3_000],
  [1, 15, 0],
  [3, 15, 0],
  [4, 15, 1],
  [10, 15, 2], // 1.5 cents, rounded half up
  [30, 15, 5], // 4.5 cents, rounded half up
  [1, 49.99, 0],
  [1, 50, 1],
  [12_345, 12.5, 1_543],
  [10_000, 0, 0],
  [10_000, 100, 10_000],
  [100_000_000_00, 15, 15_000_000_00],
])('a fee of %i cents at %f percent has a service fee of %i', (fee, percent, serviceFee) => {
  expect(priceOf(cents(fee), percent)).toEqual({
    eventFee: fee,
    serviceFee,
    serviceFeePercent: percent,
    totalPrice: fee + serviceFee,
  });
});

test('an amount has at most two decimals', () => {
  expect(JSON.stringify([toAmount(cents(1)), toAmount(cents(110)), toAmount(cents(23_000)), toAmount(cents(29))])).toBe(
    '[0.01,1.1,230,0.29]',
  );
});
