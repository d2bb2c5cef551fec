import { loopTurn } from './loop-turn.ts';

const waiting: (() => void)[] = [];

/** Whether a waiting computation has been resumed in this turn of the event loop. */
let hasResumed = false;

/** Resumes one waiting computation per turn of the event loop, so that many hold it no longer than one. */
function resumeNext(): void {
  hasResumed = true;
  setImmediate(() => {
    hasResumed = false;
  });
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeNext);
}

/** Waits for a turn of the event loop that no other waiting computation uses. */
export const nextSlice = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeNext);
  });

/** How long the reads and pages of one turn of the event loop may hold it together, in milliseconds. */
const TURN_MS = 2;

let turn: number | undefined;
let turnBegan = 0;

/**
 * Whether the computations of this turn of the event loop have held it for long enough, so that the next one has to wait for a turn of its
 * own ({@link nextSlice}).
 */
export function isTurnUsedUp(): boolean {
  const now = performance.now();
  if (turn !== loopTurn()) [turn, turnBegan] = [loopTurn(), now];
  return hasResumed || now - turnBegan >= TURN_MS;
}

/**
 * Splits a computation into slices of `sliceMs`, between which this thread does other work.
 * @param options.waitsFirst false for a computation that is nearly always short: its first slice begins at once, although many may begin in
 *   one turn
 * @returns a function to await between steps of less than a millisecond each
 */
export function yieldEvery(sliceMs: number, { waitsFirst = false } = {}): () => Promise<void> {
  let startedAt = waitsFirst ? Number.NEGATIVE_INFINITY : performance.now();
  return async () => {
    if (performance.now() - startedAt < sliceMs) return;
    await nextSlice();
    startedAt = performance.now();
  };
}
