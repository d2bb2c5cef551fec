/**
 * Milliseconds until this thread's next multiple of a period, so that periodic jobs share wake-ups: on an idle machine, a wake-up
 * costs more than most jobs. A timer may fire up to 1 ms early.
 */
export const untilNext = (periodMs: number): number => periodMs - ((performance.now() + 1) % periodMs);
