import type { Clock } from '../runtime/clock.ts';
import type { SteadyClock } from '../runtime/steady-clock.ts';

/** How far a clock may be off before nothing is done by it. Clocks that are kept in time by NTP are within a second. */
export const TOLERANCE_MS = 30_000;

/** A clock that has moved by more than this against the monotonic clock has been set. */
export const SET_MS = 1_000;

export const isOff = (deviationMs: number): boolean => Math.abs(deviationMs) > TOLERANCE_MS;

/** How far `wall` is ahead of `steady`, in milliseconds: constant until the clock is set. */
export function offsetOf(wall: Clock, steady: SteadyClock): number {
  for (;;) {
    const before = steady.now();
    const offset = wall() - before;
    // A process that was stopped between the two readings has to take them again.
    if (!(steady.now() - before > SET_MS)) return offset;
  }
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** A length of time in the largest unit that fits: `20 days`, `45 seconds` */
export function lengthOf(milliseconds: number): string {
  const length = Math.abs(milliseconds);
  const [unit, size] = UNITS.find(([, each]) => length >= each) ?? ['second', 1_000];
  const style = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat('en', style).format(length / size);
}
