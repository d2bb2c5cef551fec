import { LRUCache } from 'lru-cache';

/**
 * Creates an LRU cache that grows with what it holds. With the library's own `max`, a cache allocates all of its entries at once: 50
 * to 100 ms for the caches of a start.
 * @param max the number of entries, or what their sizes add up to
 * @param options.sizeOf how much of that an entry takes, at least 1
 */
export const createLruCache = <Key extends {}, Value extends {}>(
  max: number,
  {
    sizeOf = () => 1,
    ...options
  }: Pick<LRUCache.OptionsBase<Key, Value, unknown>, 'ttl' | 'noUpdateTTL'> & {
    readonly sizeOf?: (value: Value) => number;
  } = {},
): LRUCache<Key, Value> => new LRUCache<Key, Value>({ ...options, maxSize: max, sizeCalculation: sizeOf });
