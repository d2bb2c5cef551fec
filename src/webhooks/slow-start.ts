/** Attempts per second when a probe has just succeeded. They double every second. */
const FIRST_RATE = 5;
const DOUBLES_EVERY_MS = 1_000;
/** After that long, at more than 5,000 attempts per second, nothing is held back any more. */
const DURATION_MS = 10_000;

/**
 * The pace of a receiver that has just recovered (docs/decisions/webhook-deliveries.md): a backlog must not bring it down again.
 * @param monotonic milliseconds
 */
export function createSlowStart(monotonic: () => number = () => performance.now()) {
  let startedAt = monotonic();
  let lastAt = Number.NEGATIVE_INFINITY;

  return {
    /** How long the next attempt has to wait, in milliseconds. */
    wait(): number {
      const now = monotonic();
      if (now - startedAt >= DURATION_MS) return 0;
      const perSecond = FIRST_RATE * 2 ** ((now - startedAt) / DOUBLES_EVERY_MS);
      return Math.max(0, lastAt + 1_000 / perSecond - now);
    },
    attempted(): void {
      lastAt = monotonic();
    },
    /** A failure halves the rate. */
    failed(): void {
      startedAt = Math.min(monotonic(), startedAt + DOUBLES_EVERY_MS);
    },
    isOver: (): boolean => monotonic() - startedAt >= DURATION_MS,
  };
}

export type SlowStart = ReturnType<typeof createSlowStart>;
