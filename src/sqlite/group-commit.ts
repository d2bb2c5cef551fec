import { setImmediate as nextTurn } from 'node:timers/promises';
import { isBusy } from './busy.ts';
import type { Durability } from './database.ts';

/** How long consecutive commits may take before other work of the process gets a turn. */
const MAX_TURN_MS = 2;

type Job = { readonly run: () => void; readonly resolve: () => void; readonly reject: (error: unknown) => void };

/**
 * Group commit: all writes waiting when the disk becomes free share one transaction and one fsync (docs/decisions/processes.md). A
 * failed write does not fail its group.
 */
export class GroupCommit {
  readonly #durability: Durability;
  readonly #transaction: (work: () => void) => Promise<void>;
  #waiting: Job[] = [];
  #committing: Promise<void> | undefined;
  #turnStart: number | undefined;

  /** @param deps.transaction runs `work` in a transaction with that durability */
  constructor(deps: { readonly durability: Durability; readonly transaction: (work: () => void) => Promise<void> }) {
    this.#durability = deps.durability;
    this.#transaction = deps.transaction;
  }

  /**
   * Runs `work` in a transaction. Resolves to its result once committed. `work` must be repeatable: if a group fails, each of
   * its writes runs again on its own.
   */
  write<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: { readonly value: Result } | undefined;
      this.#waiting.push({
        run: () => {
          result = { value: work() };
        },
        resolve: () => result !== undefined && resolve(result.value),
        reject,
      });
      this.#committing ??= this.#commitWaiting();
    });
  }

  /** Resolves when no write is waiting. */
  async settled(): Promise<void> {
    await this.#committing;
  }

  async #commitWaiting(): Promise<void> {
    do {
      // A commit that waits for the disk collects the writes of a whole turn of the event loop, a cheap one only synchronous
      // ones.
      if (this.#durability === 'durable' || this.#turnTakes() > MAX_TURN_MS) await nextTurn();
      else await Promise.resolve();
      await this.#commit(() => this.#takeWaiting());
    } while (this.#waiting.length > 0);
    this.#committing = undefined;
  }

  /** Milliseconds since the first cheap commit of this turn of the event loop, including the waits for each. */
  #turnTakes(): number {
    if (this.#turnStart === undefined) {
      this.#turnStart = performance.now();
      setImmediate(() => {
        this.#turnStart = undefined;
      });
    }
    return performance.now() - this.#turnStart;
  }

  #takeWaiting(): readonly Job[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  async #commit(take: () => readonly Job[]): Promise<void> {
    let jobs: readonly Job[] | undefined;
    try {
      await this.#transaction(() => {
        // Take the writes only once the lock is held, to include those that arrived meanwhile.
        jobs ??= take();
        for (const job of jobs) job.run();
      });
      for (const job of jobs ?? []) job.resolve();
    } catch (error) {
      jobs ??= take();
      // If the file is locked, each write would wait just as long on its own.
      if (jobs.length === 1 || isBusy(error)) for (const job of jobs) job.reject(error);
      else await this.#commitEach(jobs);
    }
  }

  async #commitEach(jobs: readonly Job[]): Promise<void> {
    for (const job of jobs) {
      await this.#commit(() => [job]);
      await nextTurn();
    }
  }
}
