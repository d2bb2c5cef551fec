import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFirstValues } from '../../src/domain/first-values.ts';

test('the first values are those of a stable sort of all', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 })), fc.integer({ min: 0, max: 12 }), (ranks, count) => {
      const values = ranks.map((rank, at) => ({ rank, at }));
      const byRank = (a: { rank: number }, b: { rank: number }) => a.rank - b.rank;
      const first = createFirstValues(byRank, count);
      for (const value of values) first.add(value);
      expect(first.values()).toEqual(values.toSorted(byRank).slice(0, count));
    }),
    { numRuns: 500 },
  );
});
