import { within } from '../../runtime/within.ts';

/** A read that takes longer, as one over a connection that is stuck, holds up no other. */
const HOLDS_UP_MS = 100;

type Reading<V> = { readonly keys: Set<string>; readonly found: PromiseWithResolvers<ReadonlyMap<string, V>> };

/**
 * Reads single keys. Those that are asked for while a read is under way go together in the next one: each is read after it was
 * asked for, and many callers cost few round trips.
 */
export function gatherReads<V>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (key: string) => Promise<V | undefined> {
  let isReading = false;
  let next: Reading<V> | undefined;

  async function readNext(): Promise<void> {
    isReading = true;
    while (next !== undefined) {
      const { keys, found } = next;
      next = undefined;
      const settled = read([...keys]).then(found.resolve, found.reject);
      await within(HOLDS_UP_MS, settled).catch(() => {});
    }
    isReading = false;
  }

  return async (key) => {
    next ??= { keys: new Set(), found: Promise.withResolvers() };
    next.keys.add(key);
    const { promise } = next.found;
    if (!isReading) void readNext();
    return (await promise).get(key);
  };
}
