/**
 * Runs the jobs of a key one after another, in order of arrival; jobs of different keys run side by side. The first job starts
 * immediately. A queue with a single purpose uses a single key. A key is removed after its last job.
 */
export class SerialQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles like `job`. A failed job does not stop the next one. */
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
