import { createLruCache } from '../../event-loop/lru-cache.ts';
import type { Stored } from '../document-store.ts';

/** Parsed documents cached per collection. */
const MAX_DOCUMENTS = 10_000;
/** Longer keys are not cached: real keys are shorter, and invented ones would fill the memory. */
const MAX_KEY_LENGTH = 200;
/** Results of `find` cached per collection, until one of its documents changes. */
const MAX_RESULTS = 1_000;
/** Documents in a cached result. Longer results are not cached. */
const MAX_RESULT_LENGTH = 32;

/** The state of a key. `stored` is absent for tombstones and missing keys. */
export type CacheEntry<D extends object> = { readonly stored?: Stored<D>; readonly position?: string };
export const ABSENT: CacheEntry<never> = {};

/**
 * Documents and results of `find` of one collection.
 * @param isCached false disables the cache: only collections written solely by projections may be cached
 */
export function createDocumentCache<D extends object>(isCached: boolean) {
  // With `max`, both caches would allocate all entries up front, which adds 50 ms to startup.
  const entries = createLruCache<string, CacheEntry<D>>(MAX_DOCUMENTS);
  const results = createLruCache<string, readonly Stored<D>[]>(MAX_RESULTS);
  let changes = 0;
  const clearResults = () => {
    changes += 1;
    // A projection writes thousands of documents in a row, and clearing an empty cache takes time, too.
    if (results.size > 0) results.clear();
  };
  return {
    /** Counts the changes that made cached results stale. */
    changes: () => changes,
    entry: (key: string): CacheEntry<D> | undefined => entries.get(key),
    keep(key: string, entry: CacheEntry<D>): void {
      if (isCached && key.length <= MAX_KEY_LENGTH) entries.set(key, entry);
    },
    result: (query: string): readonly Stored<D>[] | undefined => results.get(query),
    /** @param readAt {@link changes} before it was read */
    keepResult(query: string, documents: readonly Stored<D>[], readAt: number): void {
      if (isCached && readAt === changes && documents.length <= MAX_RESULT_LENGTH) results.set(query, documents);
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
