import { setTimeout as sleep } from 'node:timers/promises';
import type { Consume } from './event-store.ts';

/** The first pause of a consumer that cannot go on. It doubles with each in a row, up to the second. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** How long a consumer stays away from its group after a handler threw: a pause, then until it is ready. */
export class Absence {
  readonly #ready: NonNullable<Consume['ready']>;
  readonly #closing: AbortSignal;
  #inARow = 0;

  constructor(ready: Consume['ready'], closing: AbortSignal) {
    this.#ready = ready ?? (async () => {});
    this.#closing = closing;
  }

  /** Something was handled: the next absence begins with the shortest pause again. */
  over(): void {
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
        // Not yet. Why is known: it is what made the consumer leave.
      }
    }
  }
}
