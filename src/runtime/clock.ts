/** Milliseconds since the epoch. Handed in wherever time matters, so that tests and `CLOCK_SHIFT` can move it. */
export type Clock = () => number;

/** The machine's clock, moved by `shift` milliseconds (`CLOCK_SHIFT`). */
export const systemClock =
  (shift = 0): Clock =>
  () =>
    Date.now() + shift;
