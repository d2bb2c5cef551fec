/** Random numbers that are the same for the same seed. */
export type Random = {
  /** A whole number from `from` to `to`, both inclusive. */
  between(from: number, to: number): number;
  /** @throws if the list is empty */
  pick<T>(from: readonly T[]): T;
};

/** Mulberry32, by Tommy Ettinger: 32 bits of state are plenty for timings. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    between,
    pick(from) {
      const picked = from[between(0, from.length - 1)];
      if (picked === undefined) throw new Error('Nothing to pick from');
      return picked;
    },
  };
}
