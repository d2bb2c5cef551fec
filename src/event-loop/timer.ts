/**
 * Starts to measure time that another process measures, too. Returns the milliseconds since then by the monotonic clock, or by the clock of the
 * machine if those are more: the monotonic one stands still while the machine is suspended.
 */
export function startTimer(): () => number {
  const [monotonic, wall] = [performance.now(), Date.now()];
  return () => Math.max(performance.now() - monotonic, Date.now() - wall);
}
