import { FairQueue } from './fair-queue.ts';
import type { ReceiverClass } from './receiver-health.ts';

/** Limits for the attempts in flight, over all registrations: each class of receivers has its own. */
export type InFlightLimits = { readonly [C in ReceiverClass]: number } & {
  /** An attempt that takes longer counts as slow, in milliseconds. */
  readonly slowAfterMs: number;
};

/**
 * How long an attempt to a prompt receiver keeps its permit. Many prompt receivers may hang at the same moment without delaying the
 * others; each registration has only a few attempts in flight.
 */
const PROMPT_HOLD_MS = 100;

/** A permit for one attempt in flight. */
export type Permit = {
  /** Call when the attempt begins. `onSlow` is called once it has taken too long to count as prompt. */
  begin(onSlow?: () => void): void;
  /** Whether the attempt took long enough to count as slow. */
  isSlow(): boolean;
  release(): void;
};

/**
 * Minimum interval between two attempts to receivers of a class. If all freed permits were used at the same instant, deliveries to prompt
 * receivers would wait for all of them.
 */
const SPACING_MS: { readonly [C in ReceiverClass]: number } = { prompt: 0, slow: 4, unknown: 24, hanging: 24 };

/**
 * Permits for the attempts in flight. Each class of receivers has its own, so that hanging or untried receivers never take a permit that
 * a prompt one needs; within a class, accounts share them fairly. An attempt without a prompt response releases its permit and continues
 * on a slow one, or on a hanging one if the receiver is untried, even over the limit (docs/decisions/webhook-deliveries.md).
 */
export function createPermits({ slowAfterMs, ...limits }: InFlightLimits) {
  const semaphores = {
    prompt: createSemaphore(limits.prompt, SPACING_MS.prompt),
    unknown: createSemaphore(limits.unknown, SPACING_MS.unknown),
    slow: createSemaphore(limits.slow, SPACING_MS.slow),
    hanging: createSemaphore(limits.hanging, SPACING_MS.hanging),
  };

  function permitOf(receiverClass: ReceiverClass, account: string): Permit {
    let held: Semaphore | undefined = semaphores[receiverClass];
    let timer: NodeJS.Timeout | undefined;
    let isSlow = false;
    let isReleased = false;

    function turnSlow(): void {
      isSlow = true;
      const next = receiverClass === 'prompt' || receiverClass === 'slow' ? semaphores.slow : semaphores.hanging;
      if (held === next) return;
      held?.release(account);
      held = next;
      next.acquireOverLimit(account);
    }

    return {
      begin(onSlow) {
        const slow = () => {
          turnSlow();
          onSlow?.();
        };
        if (receiverClass !== 'prompt' || slowAfterMs <= PROMPT_HOLD_MS) {
          timer = setTimeout(slow, slowAfterMs);
          return;
        }
        timer = setTimeout(() => {
          held?.release(account);
          held = undefined;
          timer = setTimeout(slow, slowAfterMs - PROMPT_HOLD_MS);
        }, PROMPT_HOLD_MS);
      },
      isSlow: () => isSlow,
      release() {
        if (isReleased) return;
        isReleased = true;
        clearTimeout(timer);
        held?.release(account);
      },
    };
  }

  return {
    /** @param account the owner of the registration */
    async acquire(receiverClass: ReceiverClass, account: string): Promise<Permit> {
      await semaphores[receiverClass].acquire(account);
      return permitOf(receiverClass, account);
    },

    /** Gives every waiter a permit at once, so that waiting workers can stop. */
    stop() {
      for (const semaphore of Object.values(semaphores)) semaphore.stop();
    },
  };
}

export type Permits = ReturnType<typeof createPermits>;
type Semaphore = ReturnType<typeof createSemaphore>;

/** @param spacingMs minimum interval between two permits */
function createSemaphore(size: number, spacingMs: number) {
  const queue = new FairQueue<() => void>();
  let taken = 0;
  let nextAt = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  /** The permit counts as taken from here on: otherwise another waiter could take it before this one runs. */
  function give(): void {
    while ((taken < size || stopped) && !queue.isEmpty) {
      const now = performance.now();
      if (spacingMs > 0 && now < nextAt && !stopped) {
        timer ??= setTimeout(() => {
          timer = undefined;
          give();
        }, nextAt - now);
        return;
      }
      nextAt = now + spacingMs;
      taken += 1;
      queue.next()?.();
    }
  }

  return {
    acquire(account: string): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      queue.wait(account, resolve);
      give();
      return promise;
    },
    acquireOverLimit(account: string) {
      taken += 1;
      queue.hold(account);
    },
    release(account: string) {
      taken -= 1;
      queue.release(account);
      give();
    },
    stop() {
      stopped = true;
      give();
      clearTimeout(timer);
    },
  };
}
