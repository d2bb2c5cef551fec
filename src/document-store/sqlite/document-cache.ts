import { createLruCache } from '../../runtime/lru-cache.ts';
import type { Stored } from '../document-store.ts';

/** Parsed documents cached per collection. */
const MAX_DOCUMENTS = 10_000;
/** Longer keys are not cached: only made-up ones are that long, and they would fill the memory. */
const MAX_KEY_LENGTH = 200;
/** Results of `find` cached per collection, until one of its documents changes. */
const MAX_RESULTS = 1_000;
/** Documents in a cached result. Longer results are not cached. */
const MAX_RESULT_LENGTH = 32;

/** What is stored under a key. `stored` is absent for a tombstone and for a key that does not exist. */
export type CacheEntry<D extends object> = { readonly stored?: Stored<D>; readonly position?: string };
export const ABSENT: CacheEntry<never> = {};

/**
 * Documents and results of `find` of one collection.
 * @param isCached whether anything is kept: only of collections that nothing but projections write to
 */
export function createDocumentCache<D extends object>(isCached: boolean) {
  // With `max`, both would allocate all their entries up front, which takes 50 ms for the collections opened at a start.
  const entries = createLruCache<string, CacheEntry<D>>(MAX_DOCUMENTS);
  const results = createLruCache<string, readonly Stored<D>[]>(MAX_RESULTS);
  let changes = 0;
  const clearResults = () => {
    changes += 1;
    // A projection writes thousands of documents in a row, and clearing takes time even when there is nothing to clear.
    if (results.size > 0) results.clear();
  };
  return {
    /** Counts what has made cached results stale. */
    changes: () => changes,
    entry: (key: string): CacheEntry<D> | undefined => entries.get(key),
    keep(key: string, entry: CacheEntry<D>): void {
      if (isCached && key.length <= MAX_KEY_LENGTH) entries.set(key, entry);
    },
    result: (query: string): readonly Stored<D>[] | undefined => results.get(query),
    /** @param readAt {@link changes} before it was read */
    keepResult(query: string, found: readonly Stored<D>[], readAt: number): void {
      if (isCached && readAt === changes && found.length <= MAX_RESULT_LENGTH) results.set(query, found);
    },
    forget(keys: readonly string[]): void {
      for (const key of keys) entries.delete(key);
      clearResults();
    },
    forgetAll(): void {
      entries.clear();
      clearResults();
    },
  };
}
