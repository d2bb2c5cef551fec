import type { Collection as MongoCollection, WithId } from 'mongodb';
import { gatherCalls } from '../../runtime/gathered-calls.ts';
import { inPages } from '../../runtime/in-pages.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { Collection, Documents, Find, Group, Projected, Stored, Unread } from '../document-store.ts';
import { createUpdate } from '../update.ts';
import { type Entry, toStored } from './entry.ts';
import { type Retry, unavailable } from './failures.ts';
import { gatherWrites } from './gathered-writes.ts';
import { writeProjected } from './projected-writes.ts';
import { filterOf, filterOfFind, groupOf, sortOf } from './query.ts';
import { createRecordWrites } from './record-writes.ts';

/** Documents per batch of a cursor. */
const BATCH_SIZE = 500;

/** A MongoDB collection. */
export function mongoDocuments<D extends object>(
  collection: MongoCollection<Entry>,
  { ttl, isWrittenTogether }: Pick<Collection<D>, 'ttl' | 'isWrittenTogether'>,
  retry: Retry,
): Documents<D> {
  async function readMany(keys: readonly string[]): Promise<WithId<Entry>[]> {
    if (keys.length === 0) return [];
    return retry(() => collection.find({ _id: { $in: [...new Set(keys)] } }).toArray());
  }

  async function storedMany(keys: readonly string[]): Promise<ReadonlyMap<string, Stored<D>>> {
    const stored = (await readMany(keys)).flatMap((entry) => toStored<D>(entry) ?? []);
    return new Map(stored.map((each) => [each.key, each]));
  }

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

  const single = createRecordWrites<D>(collection, ttl, retry);
  const writes = isWrittenTogether ? gatherWrites<D>({ collection, ttl, retry }, single) : single;
  const compareAndSet = { get: gatherCalls(storedMany), insert: writes.insert, replace: writes.replace };

  return {
    get: compareAndSet.get,
    insert: compareAndSet.insert,
    delete: single.delete,
    update: createUpdate(compareAndSet),

    async getMany(keys) {
      const result = await storedMany(keys);
      return [...new Set(keys)].flatMap((key) => result.get(key) ?? []);
    },

    async *find(query: Find<D>) {
      if (query.limit === 0) return;
      const cursor = await retry(() => openCursor(query));
      try {
        for await (const entry of cursor) {
          const stored = toStored<D>(entry);
          if (stored !== undefined) yield stored;
        }
        // The driver ends a killed cursor as if it were complete.
        if (cursor.killed) throw new Unavailable('The cursor was closed before everything had been read');
      } catch (error) {
        unavailable(error);
      } finally {
        await cursor.close();
      }
    },

    async *pages(query) {
      for await (const page of inPages(this.find(query), BATCH_SIZE))
        yield page.map(({ key, version, document }): Unread<D> => ({ key, version, read: () => document }));
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

    project: (writes) => retry(() => writeProjected(collection, ttl, writes)),

    async projected(keys) {
      const result = new Map<string, Projected<D>>();
      for (const entry of await readMany(keys)) {
        const { _id: key, p: position } = entry;
        if (position !== undefined) result.set(key, { key, position, document: toStored<D>(entry)?.document });
      }
      return result;
    },
  };
}
