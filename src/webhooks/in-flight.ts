/** How a receiver has answered so far; `unknown` until it has been tried. */
export type ReceiverClass = 'prompt' | 'unknown' | 'slow';

/** Limits for the attempts in flight, over all registrations: each class of receivers has its own. */
export type InFlightLimits = { readonly [C in ReceiverClass]: number } & {
  /** An attempt that takes longer counts as slow, in milliseconds. */
  readonly slowAfterMs: number;
};

/** A permit for one attempt in flight. */
export type Permit = {
  /** Call when the attempt begins. `onSlow` is called once it has taken too long to count as prompt. */
  begin(onSlow?: () => void): void;
  /** Whether the attempt took long enough to count as slow. */
  isSlow(): boolean;
  release(): void;
};

/**
 * A semaphore for each class, so that receivers that hang, or of which nothing is known, never take a permit that a prompt one
 * needs. An attempt without a prompt response releases its permit and continues on a slow one, even over the limit
 * (docs/decisions/webhook-receivers.md).
 */
export function createPermits({ slowAfterMs, ...limits }: InFlightLimits) {
  const semaphores = {
    prompt: createSemaphore(limits.prompt),
    unknown: createSemaphore(limits.unknown),
    slow: createSemaphore(limits.slow),
  };
  return {
    async acquire(receiverClass: ReceiverClass): Promise<Permit> {
      let semaphore = semaphores[receiverClass];
      await semaphore.acquire();
      let timer: NodeJS.Timeout | undefined;
      let isSlow = false;
      let isReleased = false;
      return {
        begin(onSlow) {
          timer = setTimeout(() => {
            isSlow = true;
            if (semaphore !== semaphores.slow) {
              semaphore.release();
              semaphore = semaphores.slow;
              semaphore.acquireOverLimit();
            }
            onSlow?.();
          }, slowAfterMs);
        },
        isSlow: () => isSlow,
        release() {
          if (isReleased) return;
          isReleased = true;
          clearTimeout(timer);
          semaphore.release();
        },
      };
    },
  };
}

function createSemaphore(size: number) {
  let taken = 0;
  /** Tens of thousands may wait, so the first is found by an index and the array is cut now and then. */
  let waiting: (() => void)[] = [];
  let first = 0;

  function takeWaiting(): (() => void) | undefined {
    const next = waiting[first];
    if (next === undefined) return undefined;
    first += 1;
    if (first < 1_000) return next;
    waiting = waiting.slice(first);
    first = 0;
    return next;
  }

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
      const next = taken < size ? takeWaiting() : undefined;
      if (next === undefined) return;
      taken += 1;
      next();
    },
  };
}
