import { within } from '../../runtime/within.ts';

/** A slower read, such as one over a hanging connection, does not delay the next. */
const SLOW_READ_MS = 100;

type Reading<V> = { readonly keys: Set<string>; readonly result: PromiseWithResolvers<ReadonlyMap<string, V>> };

/**
 * Batches reads of single keys: keys requested during a read share the next one. Each key is read after its request, and many
 * callers need few round trips.
 */
export function gatherReads<V>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (key: string) => Promise<V | undefined> {
  let isReading = false;
  let next: Reading<V> | undefined;

  async function readNext(): Promise<void> {
    isReading = true;
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
