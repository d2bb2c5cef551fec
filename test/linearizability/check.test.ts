import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Specification, type Timed, Undecided, violationsIn } from './check.ts';

/** A counter that is added to and read: every answer depends on the order. */
type Step = { readonly add: number } | { readonly reads: number };
type Counted = Timed & Step & { readonly name: string };

const COUNTER: Specification<number, Counted> = {
  initial: 0,
  partitionOf: ({ name }) => name,
  keyOf: String,
  step(count, operation) {
    if ('add' in operation) return count + operation.add;
    return operation.reads === count ? count : undefined;
  },
};

const NEVER = Number.POSITIVE_INFINITY;
const isLegal = (history: readonly Counted[]): boolean => violationsIn(COUNTER, history).length === 0;

/** Tries every order, and every choice of those that have no answer. */
function isLegalInSomeOrder(left: readonly Counted[], count = 0): boolean {
  if (left.every(({ answeredAt }) => answeredAt === NEVER)) return true;
  return left.some((next) => {
    if (left.some(({ answeredAt }) => answeredAt < next.calledAt)) return false;
    const after = COUNTER.step(count, next);
    return (
      after !== undefined &&
      isLegalInSomeOrder(
        left.filter((one) => one !== next),
        after,
      )
    );
  });
}

/** What clients see of a counter. Some additions have no answer, and some of these are not made. */
const sequences = (maxLength: number, allAnswer = false) =>
  fc
    .array(
      fc.record({
        add: fc.integer({ min: -1, max: 3 }),
        early: fc.nat(3),
        late: fc.nat(3),
        isUnknown: allAnswer ? fc.constant(5) : fc.nat(5),
      }),
      { maxLength },
    )
    .map((steps) => {
      let count = 0;
      return steps.map(({ add, early, late, isUnknown }, index): Counted => {
        const isAdded = add > 0 && isUnknown !== 0;
        if (isAdded) count += add;
        const answeredAt = add > 0 && isUnknown <= 1 ? NEVER : index + late + 0.5;
        return { name: 'a', calledAt: index - early, answeredAt, ...(add > 0 ? { add } : { reads: count }) };
      });
    });

const oneAfterAnother = (history: readonly Counted[]): readonly Counted[] =>
  history.map((each, index) => ({ ...each, calledAt: index, answeredAt: index + 0.5 }));

describe('the checker', () => {
  test('passes what can have happened one after another, however the calls overlap', () => {
    fc.assert(fc.property(sequences(25), (history) => isLegal(history)));
  });

  test('finds two operations that were swapped, if that changes an answer', () => {
    const swapped = fc.tuple(sequences(20, true), fc.nat(), fc.nat()).filter(([{ length }]) => length > 1);
    fc.assert(
      fc.property(swapped, ([history, one, two]) => {
        const [a, b] = [one % history.length, two % history.length];
        const from = (index: number) => (index === a ? b : index === b ? a : index);
        expect(isLegal(oneAfterAnother(history))).toBe(true);
        const seen = oneAfterAnother(history.flatMap((_, index) => history[from(index)] ?? []));
        expect(isLegal(seen)).toBe(isLegalInSomeOrder(seen));
      }),
    );
  });

  test('says the same as trying every order', () => {
    const changed = fc.tuple(
      sequences(6),
      fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 6, maxLength: 6 }),
      fc.boolean(),
    );
    let illegal = 0;
    fc.assert(
      fc.property(changed, ([history, reads, isChanged]) => {
        const seen = history.map((each, index) =>
          'reads' in each && isChanged ? { ...each, reads: reads[index] ?? 0 } : each,
        );
        const expected = isLegalInSomeOrder(seen);
        if (!expected) illegal += 1;
        expect(isLegal(seen)).toBe(expected);
      }),
      { numRuns: 500 },
    );
    expect(illegal).toBeGreaterThan(50);
  });

  test('tells the longest order and what cannot follow', () => {
    const added = { name: 'a', calledAt: 0, answeredAt: 1, add: 2 };
    const wrong = { name: 'a', calledAt: 2, answeredAt: 3, reads: 1 };
    const other = { name: 'b', calledAt: 2, answeredAt: 3, reads: 0 };
    expect(violationsIn(COUNTER, [added, wrong, other])).toEqual([
      { partition: 'a', operations: [added, wrong], possible: [added], stuck: [wrong] },
    ]);
  });

  test('keeps to another rule of order', () => {
    const anyOrder = { ...COUNTER, precedes: () => false };
    const history = [
      { name: 'a', calledAt: 0, answeredAt: 1, reads: 1 },
      { name: 'a', calledAt: 2, answeredAt: 3, add: 1 },
    ];
    expect([isLegal(history), violationsIn(anyOrder, history)]).toEqual([false, []]);
  });

  test('gives up a history with too many orders', () => {
    const additions = Array.from({ length: 22 }, (_, index) => ({
      name: 'a',
      calledAt: 0,
      answeredAt: 1,
      add: 2 ** index,
    }));
    const never = { name: 'a', calledAt: 2, answeredAt: 3, reads: -1 };
    expect(() => violationsIn(COUNTER, [...additions, never], 1_000)).toThrow(Undecided);
  });
});
