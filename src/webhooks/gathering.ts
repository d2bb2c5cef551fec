/**
 * Lets results that come in together be stored together, so that they share a commit.
 * @param mayCome whether another result may still come
 */
export function createGathering(maxDelayMs: number, mayCome: () => boolean) {
  let gathered: PromiseWithResolvers<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function end(): void {
    clearTimeout(timer);
    gathered?.resolve();
    gathered = undefined;
  }

  return {
    /** Resolves when no other result may come any more, at the latest when the first of those gathered has waited for so long. */
    join(): Promise<void> {
      if (gathered === undefined) {
        gathered = Promise.withResolvers();
        timer = setTimeout(end, maxDelayMs);
      }
      const { promise } = gathered;
      if (!mayCome()) end();
      return promise;
    },
  };
}
