/**
 * Jobs of one key run one after the other, in the order in which they came; jobs of different keys side by side. The first one
 * starts at once. A queue that serves one purpose only uses one key. Holds nothing of a key once its last job has ended.
 */
export class SerialQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles as `job` does; a job that fails does not keep the next one from running. */
  async run<Result>(key: string, job: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.get(key)?.then(job, job) ?? job();
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}
