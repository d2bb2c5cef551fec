import { setTimeout as sleep } from 'node:timers/promises';

/** The first pause. It doubles with each failure of the event, up to `LONGEST_PAUSE_MS`. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Handles the events of a consumer, each until it succeeds.
 * @param onFailure is called with the first of several failures, of any events
 * @returns resolves to false if the consumer was closed first, or the engine will give the event to another one
 */
export function createHandling(closing: AbortSignal, onFailure: (error: unknown) => void) {
  let isFailing = false;
  return async (handle: () => Promise<void>, isOver = () => false): Promise<boolean> => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        await handle();
        isFailing = false;
        return true;
      } catch (error) {
        if (!isFailing && !closing.aborted) onFailure(error);
        isFailing = true;
      }
      await sleep(pauseMs, undefined, { signal: closing }).catch(() => {});
      if (closing.aborted || isOver()) return false;
    }
  };
}
