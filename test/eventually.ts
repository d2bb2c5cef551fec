import { setTimeout as delay } from 'node:timers/promises';

/** On a loaded machine things may take seconds. `npm run mutate` waits for less: most of what it waits for never comes. */
const TIMEOUT_MS = Number(process.env.EVENTUALLY_MS ?? 20_000);
/** The pauses grow from one to the other: what takes long is not asked for so often that it takes longer still. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [5, 80];

/** Waits until `check` no longer throws, and returns its result. After 20 s throws its last error. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(1.5 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await delay(pause);
  }
}
