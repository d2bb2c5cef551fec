/**
 * Lets results that come in together be stored together, so that they share a commit.
 * @param mayCome whether another result may still come
 */
export function createGathering(mayCome: () => boolean) {
  let gathered: PromiseWithResolvers<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let endsAt = Number.POSITIVE_INFINITY;

  function end(): void {
    clearTimeout(timer);
    endsAt = Number.POSITIVE_INFINITY;
    gathered?.resolve();
    gathered = undefined;
  }

  return {
    /** Resolves when no other result may come any more, or once one of those gathered has waited for as long as it may. */
    join(maxDelayMs: number): Promise<void> {
      gathered ??= Promise.withResolvers();
      const { promise } = gathered;
      const until = performance.now() + maxDelayMs;
      if (!mayCome()) end();
      else if (until < endsAt) {
        clearTimeout(timer);
        endsAt = until;
        timer = setTimeout(end, maxDelayMs);
      }
      return promise;
    },
  };
}
