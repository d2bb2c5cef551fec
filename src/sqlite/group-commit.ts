import { setImmediate as nextTurn } from 'node:timers/promises';
import { isBusy } from './busy.ts';
import type { Durability } from './database.ts';

/** Writers that never pause let other work of the process run at least so often. */
const LONGEST_TURN_MS = 2;

type Job = { readonly run: () => void; readonly resolve: () => void; readonly reject: (error: unknown) => void };

/**
 * Group commit: whatever waits when the disk is free shares one transaction, so one fsync. A write that cannot be stored does
 * not take the others of its group with it.
 */
export class GroupCommit {
  readonly #durability: Durability;
  readonly #transaction: (work: () => void) => Promise<void>;
  #waiting: Job[] = [];
  #committing: Promise<void> | undefined;

  /** @param deps.transaction runs `work` in a transaction of that durability */
  constructor(deps: { readonly durability: Durability; readonly transaction: (work: () => void) => Promise<void> }) {
    this.#durability = deps.durability;
    this.#transaction = deps.transaction;
  }

  /**
   * Runs `work` in a transaction; resolves to its result once that is committed. `work` must be repeatable: when a group fails,
   * each of its writes is run again on its own.
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

  /** Resolves when nothing waits any more. */
  async settled(): Promise<void> {
    await this.#committing;
  }

  async #commitWaiting(): Promise<void> {
    let turnBegan = performance.now();
    do {
      // A commit that waits for the disk gathers the writes of a whole turn; a cheap one only those made in one go.
      if (this.#durability === 'durable' || performance.now() - turnBegan > LONGEST_TURN_MS) {
        await nextTurn();
        turnBegan = performance.now();
      } else await Promise.resolve();
      await this.#commit(() => this.#takeWaiting());
    } while (this.#waiting.length > 0);
    this.#committing = undefined;
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
        // Not before the lock is there: what came while it was waited for is committed, too.
        jobs ??= take();
        for (const job of jobs) job.run();
      });
      for (const job of jobs ?? []) job.resolve();
    } catch (error) {
      jobs ??= take();
      // Whoever holds the file would let each of them wait as long as all of them.
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
