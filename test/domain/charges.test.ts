import fc from 'fast-check';
import { expect, test } from 'vitest';
import { totalsOf } from '../../src/domain/charges.ts';

const amount = fc.option(fc.nat(100_000), { nil: undefined });
const addends = fc.array(
  fc.record({ currency: fc.constantFrom('CHF', 'EUR', 'USD'), charged: amount, refunded: amount, earned: amount }),
);

test('charges, refunds and earnings add up, each currency by itself and in order', () => {
  fc.assert(
    fc.property(addends, (all) => {
      const expected = ['CHF', 'EUR', 'USD'].flatMap((currency) => {
        const own = all.filter((each) => each.currency === currency);
        const sum = (of: 'charged' | 'refunded' | 'earned') => own.reduce((total, each) => total + (each[of] ?? 0), 0);
        if (own.length === 0) return [];
        return [{ currency, charged: sum('charged'), refunded: sum('refunded'), earned: sum('earned') }];
      });
      expect(totalsOf(all)).toEqual(expected);
    }),
  );
});
