import type { Collection as MongoCollection, WithId } from 'mongodb';
import { gatherCalls } from '../../event-loop/gathered-calls.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { Collection, Documents, Find, Group, Projected, Stored, Unread } from '../document-store.ts';
import { createUpdate } from '../update.ts';
import { type Entry, toStored } from './entry.ts';
import { type Retry, unavailable } from './failures.ts';
import { gatherWrites } from './gathered-writes.ts';
import type { CollectionCache } from './generation-cache.ts';
import { writeProjected } from './projected-writes.ts';
import { filterOf, filterOfFind, groupOf, sortOf } from './query.ts';
import { createRecordWrites } from './record-writes.ts';

/** Documents per batch of a cursor. */
const BATCH_SIZE = 500;

/**
 * A MongoDB collection.
 * @param options.cache while this process projects it
 */
export function mongoDocuments<D extends object>(
  collection: MongoCollection<Entry>,
  { ttl, isWrittenTogether }: Pick<Collection<D>, 'ttl' | 'isWrittenTogether'>,
  { retry, cache = () => undefined }: { readonly retry: Retry; readonly cache?: () => CollectionCache<D> | undefined },
): Documents<D> {
  async function readMany(keys: readonly string[]): Promise<WithId<Entry>[]> {
    if (keys.length === 0) return [];
    return retry(() => collection.find({ _id: { $in: [...new Set(keys)] } }).toArray());
  }

  async function storedMany(keys: readonly string[]): Promise<ReadonlyMap<string, Stored<D>>> {
    const stored = (await readMany(keys)).flatMap((entry) => toStored<D>(entry) ?? []);
    return new Map(stored.map((each) => [each.key, each]));
  }

  const cachedMany = (keys: readonly string[]) => cache()?.read(keys, () => storedMany(keys)) ?? storedMany(keys);

  const changing = <R>(keys: readonly string[], work: () => Promise<R>): Promise<R> =>
    cache()?.during(keys, work) ?? work();

  /** Opens a new cursor for each attempt: a failed one is closed and would return no documents. */
  async function openCursor(query: Find<D>) {
    const cursor = collection.find(filterOfFind(query), { batchSize: BATCH_SIZE });
    const sort = sortOf(query);
    if (sort.length > 0) cursor.sort(sort);
    if (query.limit !== undefined) cursor.limit(query.limit);
    try {
      await cursor.hasNext();
      return cursor;
    } catch (error) {
      await cursor.close().catch(() => {});
      throw error;
    }
  }

  /** The documents of a query as the server sends them, in batches. */
  async function* fromServer(query: Find<D>): AsyncGenerator<readonly Stored<D>[]> {
    if (query.limit === 0) return;
    const cursor = await retry(() => openCursor(query));
    try {
      while (await cursor.hasNext()) yield cursor.readBufferedDocuments().flatMap((entry) => toStored<D>(entry) ?? []);
      // The driver ends a killed cursor as if it were complete.
      if (cursor.killed) throw new Unavailable('The cursor was closed before everything had been read');
    } catch (error) {
      unavailable(error);
    } finally {
      await cursor.close();
    }
  }

  function batchesOf(query: Find<D>): AsyncIterable<readonly Stored<D>[]> {
    return cache()?.find(query, () => fromServer(query)) ?? fromServer(query);
  }

  const gathered = gatherCalls(cachedMany);
  async function get(key: string): Promise<Stored<D> | undefined> {
    const cached = cache()?.document(key);
    return cached === undefined ? gathered(key) : cached.stored;
  }

  const single = createRecordWrites<D>(collection, ttl, retry);
  const writes = isWrittenTogether ? gatherWrites<D>({ collection, ttl, retry }, single) : single;

  return {
    get,
    insert: writes.insert,
    delete: single.delete,
    update: createUpdate({ get, insert: writes.insert, replace: writes.replace }),

    async getMany(keys) {
      const [memory, unique] = [cache(), [...new Set(keys)]];
      const cached = new Map(unique.map((key) => [key, memory?.document(key)]));
      const result = await cachedMany(unique.filter((key) => cached.get(key) === undefined));
      return unique.flatMap((key) => cached.get(key)?.stored ?? result.get(key) ?? []);
    },

    async *find(query: Find<D>) {
      for await (const batch of batchesOf(query)) yield* batch;
    },

    async *pages(query: Find<D>) {
      for await (const batch of batchesOf(query)) yield batch.map((stored) => new Parsed(stored));
    },

    count: (query, atMost) =>
      retry(() => collection.countDocuments(filterOf(query.where), atMost === undefined ? {} : { limit: atMost })),

    async groups<B extends keyof D & string, S extends keyof D & string>(
      query: Find<D>,
      by: readonly B[],
      sums: readonly S[] = [],
    ) {
      const pipeline = [{ $match: filterOf(query.where) }, groupOf(by, sums)];
      const result = await retry(() => collection.aggregate(pipeline).toArray());
      return result.map(
        ({ _id: values, count, ...added }): Group<D, B, S> => ({
          values,
          count,
          sums: new Map(sums.map((field) => [field, added[field]])),
        }),
      );
    },

    project: (projected) =>
      changing(
        projected.map(({ key }) => key),
        () => retry(() => writeProjected(collection, ttl, projected)),
      ),

    async projected(keys) {
      const result = new Map<string, Projected<D>>();
      // Another process may have written what this one now folds, so that it does not write it itself.
      for (const entry of await changing(keys, () => readMany(keys))) {
        const { _id: key, p: position } = entry;
        if (position !== undefined) result.set(key, { key, position, document: toStored<D>(entry)?.document });
      }
      return result;
    },
  };
}

/** A class, because a closure per document would double the time. */
class Parsed<D extends object> implements Unread<D> {
  readonly key: string;
  readonly version: number;
  readonly #document: D;

  constructor({ key, version, document }: Stored<D>) {
    this.key = key;
    this.version = version;
    this.#document = document;
  }

  read(): D {
    return this.#document;
  }
}
