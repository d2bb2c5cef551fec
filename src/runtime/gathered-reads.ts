import { within } from './within.ts';

/** A slower read, such as one over a hanging connection, does not delay the next. */
const SLOW_READ_MS = 100;

type Reading<K, V> = { readonly keys: Set<K>; readonly result: PromiseWithResolvers<ReadonlyMap<K, V>> };

/**
 * Batches reads of single keys: keys requested in the same turn share a read, and those requested during a read share the next one. Each
 * key is read after its request, and many callers need few round trips.
 */
export function gatherReads<K, V>(
  read: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): (key: K) => Promise<V | undefined> {
  let isReading = false;
  let next: Reading<K, V> | undefined;

  async function readNext(): Promise<void> {
    isReading = true;
    // Those who ask in the same turn share the read, too.
    await Promise.resolve();
    while (next !== undefined) {
      const { keys, result } = next;
      next = undefined;
      const settled = read([...keys]).then(result.resolve, result.reject);
      await within(SLOW_READ_MS, settled).catch(() => {});
    }
    isReading = false;
  }

  return async (key) => {
    next ??= { keys: new Set(), result: Promise.withResolvers() };
    next.keys.add(key);
    const { promise } = next.result;
    if (!isReading) void readNext();
    return (await promise).get(key);
  };
}
