/** Limits for the attempts in flight of this process. */
export type PermitLimits = { readonly perAccount: number; readonly all: number };

type Waiter = { readonly isUnproven: boolean; readonly start: () => void };

/**
 * Permits for the attempts in flight. The next one goes to the waiting account that holds the fewest; among equals, to the one that
 * has waited longest since its last turn. So an account gains nothing by having many receivers. Receivers that have not succeeded yet
 * hold at most half of all permits, so those that hang from the beginning leave room for the others.
 */
export function createPermits({ perAccount, all }: PermitLimits) {
  /** Permits held, by account. */
  const inUseBy = new Map<string, number>();
  /** Waiters by account, in order of when the account began to wait or had its last turn. */
  const waiting = new Map<string, Waiter[]>();
  let inUse = 0;
  let unprovenInUse = 0;

  const mayStart = ({ isUnproven }: Waiter) => !isUnproven || unprovenInUse < all / 2;

  /** The account whose turn it is, and the index of its waiter that may start. */
  function nextTurn(): { readonly account: string; readonly index: number } | undefined {
    let next: { readonly account: string; readonly index: number } | undefined;
    let fewest = perAccount;
    for (const [account, waiters] of waiting) {
      const holds = inUseBy.get(account) ?? 0;
      if (holds >= fewest) continue;
      const index = waiters.findIndex(mayStart);
      if (index === -1) continue;
      next = { account, index };
      fewest = holds;
      if (fewest === 0) break;
    }
    return next;
  }

  /** A permit counts as taken from here on: otherwise another waiter could take it before this one runs. */
  function give(): void {
    while (inUse < all) {
      const turn = nextTurn();
      if (turn === undefined) return;
      const { account, index } = turn;
      const waiters = waiting.get(account) ?? [];
      const [waiter] = waiters.splice(index, 1);
      waiting.delete(account);
      if (waiters.length > 0) waiting.set(account, waiters);
      if (waiter === undefined) return;
      inUse += 1;
      if (waiter.isUnproven) unprovenInUse += 1;
      inUseBy.set(account, (inUseBy.get(account) ?? 0) + 1);
      waiter.start();
    }
  }

  function release(account: string, isUnproven: boolean): void {
    inUse -= 1;
    if (isUnproven) unprovenInUse -= 1;
    const left = (inUseBy.get(account) ?? 0) - 1;
    if (left > 0) inUseBy.set(account, left);
    else inUseBy.delete(account);
    give();
  }

  return {
    /**
     * @param account the owner of the receiver
     * @param isUnproven the receiver has not succeeded yet
     * @returns a function that releases the permit; call it once
     */
    acquire(account: string, isUnproven: boolean): Promise<() => void> {
      const { promise, resolve } = Promise.withResolvers<() => void>();
      const waiter = { isUnproven, start: () => resolve(() => release(account, isUnproven)) };
      waiting.getOrInsert(account, []).push(waiter);
      give();
      return promise;
    },
  };
}

export type Permits = ReturnType<typeof createPermits>;
