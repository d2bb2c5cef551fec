/**
 * Keeps the first `count` of many values in their order, without sorting the others. Equal values stay in the order in which they were
 * added.
 */
export function createFirstValues<T>(compare: (a: T, b: T) => number, count: number) {
  let kept: T[] = [];
  /** No value that is not before it is one of the first. */
  let last: T | undefined;

  const first = () => kept.toSorted(compare).slice(0, count);

  return {
    add(value: T): void {
      if (last !== undefined && compare(value, last) >= 0) return;
      kept.push(value);
      if (kept.length < 2 * count) return;
      kept = first();
      last = kept.at(-1);
    },

    /** The first values, in order. */
    values: (): readonly T[] => first(),
  };
}
