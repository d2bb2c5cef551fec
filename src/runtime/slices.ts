/** How long a computation may hold the event loop, in milliseconds. */
const SLICE_MS = 5;

const waiting: (() => void)[] = [];

/** Lets one of the computations that wait go on in each turn of the event loop, so that many of them hold it no longer than one. */
function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

/** Waits for a turn of the event loop in which no other computation that waits here goes on. */
export const nextSlice = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });

/**
 * Cuts a long computation into slices, between which this thread does other work.
 * @returns to be awaited between its steps, each of which should take less than a millisecond
 */
export function startSlices(): () => Promise<void> {
  // The first step waits, too: many computations may begin in one turn.
  let startedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - startedAt < SLICE_MS) return;
    await nextSlice();
    startedAt = performance.now();
  };
}
