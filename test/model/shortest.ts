/**
 * Leaves out of a history what it fails without: halves, quarters and in the end single steps, until nothing more can be left out or the
 * time is over.
 */
export async function shortest<S>(
  steps: readonly S[],
  fails: (steps: readonly S[]) => Promise<boolean>,
  withinMs: number,
): Promise<readonly S[]> {
  const deadline = performance.now() + withinMs;
  let kept = steps;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    // From the end: what comes after the failure goes first.
    for (let from = kept.length - size; from > -size; from -= size) {
      if (performance.now() > deadline) return kept;
      const without = kept.filter((_, index) => index < from || index >= from + size);
      if (without.length < kept.length && (await fails(without))) kept = without;
    }
  }
  return kept;
}
