import { expect, test } from 'vitest';
import { createPaymentTotals, type Payment } from '../../src/domain/payment.ts';

test('totals add up charges and refunds, each currency by itself', () => {
  const totals = createPaymentTotals();
  expect(totals.all()).toEqual([]);
  const add = (kind: Payment['kind'], amount: number, currency: string) =>
    totals.add({ kind, amount, booking: { currency } } as unknown as Payment);
  add('charge', 23_000, 'USD');
  add('refund', 23_000, 'USD');
  add('charge', 0, 'JPY');
  add('charge', 11_501, 'EUR');
  add('refund', 11_501, 'USD');
  add('charge', 2, 'EUR');
  expect(totals.all()).toEqual([
    { currency: 'EUR', charged: 11_503, refunded: 0 },
    { currency: 'JPY', charged: 0, refunded: 0 },
    { currency: 'USD', charged: 23_000, refunded: 34_501 },
  ]);
});
