import { vi } from 'vitest';

/**
 * Waits until `check` no longer throws, and returns its result. Retries every 10 ms for 20 s, because on a loaded machine
 * things may take seconds.
 */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 20_000, interval: 10 });
