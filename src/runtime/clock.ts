/** Milliseconds since the epoch. Injected wherever time matters, so that tests and `CLOCK_SHIFT` can move it. */
export type Clock = () => number;

/** The machine's clock plus `shift` milliseconds (`CLOCK_SHIFT`). */
export const systemClock =
  (shift = 0): Clock =>
  () =>
    Date.now() + shift;
