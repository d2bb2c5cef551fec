/**
 * Orders items so that each group gets one turn after another: the first of each group, then the second of each. Within a group the order stays.
 */
export function inTurns<T>(items: readonly T[], groupOf: (item: T) => string): readonly T[] {
  const rounds: T[][] = [];
  const counts = new Map<string, number>();
  for (const item of items) {
    const group = groupOf(item);
    const round = counts.get(group) ?? 0;
    counts.set(group, round + 1);
    rounds[round] = [...(rounds[round] ?? []), item];
  }
  return rounds.flat();
}
