import type { Clock } from '../runtime/clock.ts';
import type { SteadyClock } from '../runtime/steady-clock.ts';

/** The largest tolerated deviation of a clock. NTP keeps clocks within a second. */
export const TOLERANCE_MS = 30_000;

/** A clock that moves further than this against the monotonic clock has been set. */
export const SET_MS = 1_000;

export const isOff = (deviationMs: number): boolean => Math.abs(deviationMs) > TOLERANCE_MS;

/** How far `wall` is ahead of `steady`, in milliseconds: constant until the clock is set. */
export function offsetOf(wall: Clock, steady: SteadyClock): number {
  for (;;) {
    const before = steady.now();
    const offset = wall() - before;
    // Read both again if the process was suspended between the readings.
    if (!(steady.now() - before > SET_MS)) return offset;
  }
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** Formats a duration in the largest unit that fits: `20 days`, `45 seconds` */
export function lengthOf(milliseconds: number): string {
  const length = Math.abs(milliseconds);
  const [unit, size] = UNITS.find(([, each]) => length >= each) ?? ['second', 1_000];
  const style = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat('en', style).format(length / size);
}
