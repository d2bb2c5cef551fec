import { setTimeout as sleep } from 'node:timers/promises';
import { within } from './within.ts';

/** A slower call, such as one over a hanging connection, does not delay the next. */
const SLOW_CALL_MS = 100;

type Calling<K, V> = { readonly keys: Set<K>; readonly result: PromiseWithResolvers<ReadonlyMap<K, V>> };

/**
 * Batches calls for single keys, such as reads: keys requested in the same turn share a call, and those requested during a call share the
 * next one. Each key is called for after its request, and many callers need few round trips.
 * @param options.restMs how long after a call for so many keys the next one begins at the earliest
 */
export function gatherCalls<K, V>(
  call: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  { restMs = () => 0 }: { readonly restMs?: (keys: number) => number } = {},
): (key: K) => Promise<V | undefined> {
  let isCalling = false;
  let next: Calling<K, V> | undefined;

  async function callNext(): Promise<void> {
    isCalling = true;
    // Those who ask in the same turn share the call, too.
    await Promise.resolve();
    while (next !== undefined) {
      const { keys, result } = next;
      next = undefined;
      const settled = call([...keys]).then(result.resolve, result.reject);
      await within(SLOW_CALL_MS, settled).catch(() => {});
      const rest = restMs(keys.size);
      if (rest > 0) await sleep(rest);
    }
    isCalling = false;
  }

  return async (key) => {
    next ??= { keys: new Set(), result: Promise.withResolvers() };
    next.keys.add(key);
    const { promise } = next.result;
    if (!isCalling) void callNext();
    return (await promise).get(key);
  };
}
