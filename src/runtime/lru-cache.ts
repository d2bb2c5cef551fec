import { LRUCache } from 'lru-cache';

/**
 * Creates an LRU cache of at most `max` entries that grows with what it holds. With the library's own `max`, a cache allocates
 * all of its entries at once: 50 to 100 ms for the caches of a start.
 */
export const createLruCache = <Key extends {}, Value extends {}>(
  max: number,
  options: Pick<LRUCache.OptionsBase<Key, Value, unknown>, 'ttl' | 'noUpdateTTL'> = {},
): LRUCache<Key, Value> => new LRUCache<Key, Value>({ ...options, maxSize: max, sizeCalculation: () => 1 });
