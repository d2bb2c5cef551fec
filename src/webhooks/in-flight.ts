/** Limits for the attempts in flight, over all registrations. */
export type InFlightLimits = {
  readonly prompt: number;
  readonly slow: number;
  /** An attempt that takes longer counts as slow. */
  readonly slowAfterMs: number;
};

/** A permit for one attempt in flight. */
export type Permit = {
  /** Whether the attempt took long enough to count as slow. */
  isSlow(): boolean;
  release(): void;
};

/**
 * Two semaphores, so that receivers that hang can exhaust only the slow one. An attempt without a prompt response releases its
 * prompt permit and continues on a slow one, even over the limit. Attempts to a receiver known to be slow start there
 * (docs/decisions/webhook-deliveries.md).
 */
export function createPermits({ prompt, slow, slowAfterMs }: InFlightLimits) {
  const semaphores = { prompt: createSemaphore(prompt), slow: createSemaphore(slow) };
  return {
    async acquire(startsSlow: boolean): Promise<Permit> {
      let semaphore = startsSlow ? semaphores.slow : semaphores.prompt;
      await semaphore.acquire();
      let isSlow = false;
      const timer = setTimeout(() => {
        isSlow = true;
        if (semaphore === semaphores.slow) return;
        semaphore.release();
        semaphore = semaphores.slow;
        semaphore.acquireOverLimit();
      }, slowAfterMs);
      return {
        isSlow: () => isSlow,
        release() {
          clearTimeout(timer);
          semaphore.release();
        },
      };
    },
  };
}

function createSemaphore(size: number) {
  let taken = 0;
  const waiting: (() => void)[] = [];
  return {
    async acquire() {
      // Whoever releases counts the waiter that it wakes: otherwise another could take its place before it runs.
      if (taken >= size) await new Promise<void>((resolve) => waiting.push(resolve));
      else taken += 1;
    },
    acquireOverLimit() {
      taken += 1;
    },
    release() {
      taken -= 1;
      const next = taken < size ? waiting.shift() : undefined;
      if (next === undefined) return;
      taken += 1;
      next();
    },
  };
}
