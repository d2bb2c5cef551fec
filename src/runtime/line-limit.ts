/** How many lines of one kind are written within this time. */
const LINES = 20;
const WITHIN_MS = 10_000;

/**
 * Limits lines of a log that other people can cause, so that they cannot fill the disk.
 * @param leftOut called at the end of a time in which lines were left out
 * @returns whether one more line of a kind is written
 */
export function createLineLimit(leftOut: (kind: string, lines: number) => void): (kind: string) => boolean {
  const counts = new Map<string, number>();
  return (kind) => {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    if (count === 1)
      setTimeout(() => {
        const lines = (counts.get(kind) ?? 0) - LINES;
        counts.delete(kind);
        if (lines > 0) leftOut(kind, lines);
      }, WITHIN_MS).unref();
    return count <= LINES;
  };
}
