import { createLruCache } from '../../event-loop/lru-cache.ts';
import type { Find, Stored } from '../document-store.ts';
import { queryText } from '../queries.ts';

/** What the cached documents and results of a generation may take together, in characters of JSON. Parsed, they take about a fifth more. */
const MAX_SIZE = 16 * 1024 * 1024;
/** Longer results, than about a thousand bookings, are not cached: a client that reads slowly keeps one in memory after it has changed. */
const MAX_RESULT_SIZE = 512 * 1024;
/** What a cached document or result takes besides its JSON. */
const OVERHEAD = 100;
/** Longer keys and queries are not cached: real ones are shorter, and invented ones would fill the memory. */
const MAX_KEY_LENGTH = 200;
const MAX_QUERY_LENGTH = 1_000;

/** A document, or that a key has none; or the result of a query, and the number of changes of the collection when it was read. */
type Cached =
  | { readonly size: number; readonly stored: Stored<object> | undefined }
  | { readonly size: number; readonly result: readonly Stored<object>[]; readonly readAt: number };

/** A read of documents from the server. Those that change meanwhile are not cached. */
type Reading = { readonly changed: Set<string> };

type Memory = ReturnType<typeof createMemory>;
const createMemory = () => createLruCache<string, Cached>(MAX_SIZE, { sizeOf: ({ size }) => size });

export type GenerationCache = { of<D extends object>(collection: string): CollectionCache<D> };
export type CollectionCache<D extends object> = ReturnType<typeof createCollectionCache<D>>;

/**
 * The documents of a generation in memory, for the process that projects it (docs/decisions/read-models.md).
 * @param isOnlyWriter whether no other process can project this generation now
 */
export function createGenerationCache(isOnlyWriter: () => boolean): GenerationCache {
  const memory = createMemory();
  const collections = new Map<string, unknown>();
  return {
    of<D extends object>(name: string) {
      // A collection's name determines the type of its documents.
      const cache =
        (collections.get(name) as CollectionCache<D> | undefined) ??
        createCollectionCache<D>(name, memory, isOnlyWriter);
      collections.set(name, cache);
      return cache;
    },
  };
}

function createCollectionCache<D extends object>(name: string, memory: Memory, isOnlyWriter: () => boolean) {
  const readings = new Set<Reading>();
  const changing = new Set<readonly string[]>();
  /** Counts the changes that made results stale. */
  let changes = 0;

  const documentId = (key: string) => `${name}/${key}`;
  const resultId = (query: string) => `${name}?${query}`;

  function forget(keys: readonly string[]): void {
    changes += 1;
    for (const key of keys) {
      memory.delete(documentId(key));
      for (const { changed } of readings) changed.add(key);
    }
  }

  return {
    /** The cached state of a key. Undefined if it has to be read. */
    document(key: string): { readonly stored: Stored<D> | undefined } | undefined {
      const cached = isOnlyWriter() ? memory.get(documentId(key)) : undefined;
      return cached !== undefined && 'stored' in cached
        ? { stored: cached.stored as Stored<D> | undefined }
        : undefined;
    },

    /** Reads documents from the server, and caches them. */
    async read(
      keys: readonly string[],
      fromServer: () => Promise<ReadonlyMap<string, Stored<D>>>,
    ): Promise<ReadonlyMap<string, Stored<D>>> {
      const reading: Reading = { changed: new Set([...changing].flat()) };
      readings.add(reading);
      try {
        const result = await fromServer();
        for (const key of keys) {
          if (reading.changed.has(key) || key.length > MAX_KEY_LENGTH) continue;
          const stored = result.get(key);
          memory.set(documentId(key), { stored, size: sizeOf(stored) });
        }
        return result;
      } finally {
        readings.delete(reading);
      }
    },

    /** The result of a query, in batches, from memory or from the server. It is cached unless a document has changed by its end. */
    async *find(
      query: Find<D>,
      fromServer: () => AsyncIterable<readonly Stored<D>[]>,
    ): AsyncGenerator<readonly Stored<D>[]> {
      const text = queryText(query);
      const cached = isOnlyWriter() ? memory.get(resultId(text)) : undefined;
      if (cached !== undefined && 'result' in cached && cached.readAt === changes) {
        yield cached.result as readonly Stored<D>[];
        return;
      }
      const readAt = changing.size === 0 ? changes : -1;
      let result: Stored<D>[] = [];
      let size = OVERHEAD + text.length;
      for await (const batch of fromServer()) {
        if (size <= MAX_RESULT_SIZE) {
          for (const stored of batch) size += sizeOf(stored);
          result = size <= MAX_RESULT_SIZE ? [...result, ...batch] : [];
        }
        yield batch;
      }
      if (readAt === changes && size <= MAX_RESULT_SIZE && text.length <= MAX_QUERY_LENGTH)
        memory.set(resultId(text), { result, size, readAt });
    },

    /** Forgets documents, and caches no read of them that has begun by the end of `work`. */
    async during<R>(keys: readonly string[], work: () => Promise<R>): Promise<R> {
      const ours = [...keys];
      forget(ours);
      changing.add(ours);
      try {
        return await work();
      } finally {
        changing.delete(ours);
      }
    },
  };
}

const sizeOf = (stored: Stored<object> | undefined): number =>
  OVERHEAD + (stored === undefined ? 0 : JSON.stringify(stored.document).length);
