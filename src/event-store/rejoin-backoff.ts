import { setTimeout as sleep } from 'node:timers/promises';
import type { Consume } from './event-store.ts';

/** The first pause. It doubles with each failure in a row, up to `LONGEST_PAUSE_MS`. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Delays a consumer's return to its group after its handler threw. */
export class RejoinBackoff {
  readonly #ready: NonNullable<Consume['ready']>;
  readonly #closing: AbortSignal;
  #inARow = 0;

  constructor(ready: Consume['ready'], closing: AbortSignal) {
    this.#ready = ready ?? (async () => {});
    this.#closing = closing;
  }

  /** Call it after a handled event: the next pause is the shortest again. */
  reset(): void {
    this.#inARow = 0;
  }

  /** Resolves when the consumer may rejoin, or at once when it is closed. */
  async wait(): Promise<void> {
    while (!this.#closing.aborted) {
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#inARow, LONGEST_PAUSE_MS);
      this.#inARow += 1;
      await sleep(pause, undefined, { signal: this.#closing }).catch(() => {});
      if (this.#closing.aborted) return;
      try {
        return await this.#ready(this.#closing);
      } catch {
        // Not ready yet. Wait again.
      }
    }
  }
}
