import { LRUCache } from 'lru-cache';

/**
 * Creates an LRU cache that grows with its entries. The library's own `max` allocates all entries at once, which adds 50 to 100 ms
 * to startup.
 * @param max the number of entries, or their total size
 * @param options.sizeOf the size of an entry, at least 1
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
