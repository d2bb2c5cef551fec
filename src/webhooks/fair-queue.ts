/**
 * The waiters for a permit, and how many permits each account holds. The next permit goes to the waiting account that holds the fewest;
 * among equals, to the one that has waited longest since its last turn. An account gains nothing by having many registrations.
 */
export class FairQueue<Waiter> {
  /** Permits held, by account. */
  readonly #held = new Map<string, number>();
  /** Waiters by account, in order of when the account began to wait or had its last turn. */
  readonly #waiting = new Map<string, Waiter[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  wait(account: string, waiter: Waiter): void {
    const waiters = this.#waiting.get(account);
    if (waiters === undefined) this.#waiting.set(account, [waiter]);
    else waiters.push(waiter);
  }

  /** Gives a permit to the next account, and within it to the longest waiting. @returns undefined if none waits */
  next(): Waiter | undefined {
    const account = this.#nextAccount();
    if (account === undefined) return undefined;
    const waiters = this.#waiting.get(account) ?? [];
    const waiter = waiters.shift();
    this.#waiting.delete(account);
    if (waiters.length > 0) this.#waiting.set(account, waiters);
    this.hold(account);
    return waiter;
  }

  /** Counts a permit that an account took without waiting. */
  hold(account: string): void {
    this.#held.set(account, this.#heldBy(account) + 1);
  }

  /** An account no longer holds one of its permits. */
  release(account: string): void {
    const held = this.#heldBy(account) - 1;
    if (held > 0) this.#held.set(account, held);
    else this.#held.delete(account);
  }

  #heldBy(account: string): number {
    return this.#held.get(account) ?? 0;
  }

  #nextAccount(): string | undefined {
    let next: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const account of this.#waiting.keys()) {
      const held = this.#heldBy(account);
      if (held >= fewest) continue;
      [next, fewest] = [account, held];
      if (fewest === 0) break;
    }
    return next;
  }
}
