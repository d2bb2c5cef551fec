import { vi } from 'vitest';

/**
 * Waits until `check` no longer throws and answers what it returned. It looks every 10 ms, for 20 s: on a loaded machine what
 * takes a moment may take seconds.
 */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 10 });
