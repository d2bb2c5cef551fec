/** Attempts under way at the same moment, over all registrations. */
export type InFlightLimits = {
  readonly prompt: number;
  readonly slow: number;
  /** An attempt that takes longer counts as slow, in milliseconds. */
  readonly slowAfter: number;
};

/** A permit among the attempts under way. */
export type Permit = {
  /** Whether the attempt took long enough to count as slow. */
  isSlow(): boolean;
  free(): void;
};

/**
 * Two rooms, so that receivers that hang can fill only their own. An attempt that does not answer soon gives its permit in the
 * prompt room back and goes on in the slow one, which it may overfill; a registration known to be slow starts there.
 */
export function createInFlight({ prompt, slow, slowAfter }: InFlightLimits) {
  const rooms = { prompt: createSemaphore(prompt), slow: createSemaphore(slow) };
  return {
    async take(startsSlow: boolean): Promise<Permit> {
      let room = startsSlow ? rooms.slow : rooms.prompt;
      await room.enter();
      let isSlow = false;
      const timer = setTimeout(() => {
        isSlow = true;
        if (room === rooms.slow) return;
        room.leave();
        room = rooms.slow;
        room.squeezeIn();
      }, slowAfter);
      return {
        isSlow: () => isSlow,
        free() {
          clearTimeout(timer);
          room.leave();
        },
      };
    },
  };
}

function createSemaphore(size: number) {
  let taken = 0;
  const waiting: (() => void)[] = [];
  return {
    async enter() {
      if (taken >= size) await new Promise<void>((resolve) => waiting.push(resolve));
      taken += 1;
    },
    squeezeIn() {
      taken += 1;
    },
    leave() {
      taken -= 1;
      if (taken < size) waiting.shift()?.();
    },
  };
}
