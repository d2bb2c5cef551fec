import {
  type AnyBulkWriteOperation,
  type Document,
  MongoBulkWriteError,
  type Collection as MongoCollection,
  MongoServerError,
  type WithId,
} from 'mongodb';
import type { Collection, Documents, Find, Projected, Stored } from '../document-store.ts';
import { EXPIRES, filterOf, sortOf } from './query.ts';

/** Documents fetched in one go by a stream. */
const PAGE = 500;
const DUPLICATE_KEY = 11_000;

/** How a document is stored. A tombstone has no `d`. */
export type Entry = {
  readonly _id: string;
  /** Version. */
  readonly v: number;
  /** Position in the log, of what a projection wrote. */
  readonly p?: string;
  readonly d?: Document;
  /** When the document may disappear. */
  readonly [EXPIRES]?: Date;
};

/** Runs an operation that may be repeated without harm, again when it failed for a passing reason. */
export type Repeat = <R>(operation: () => Promise<R>) => Promise<R>;

/** A collection of MongoDB. Writes that must not be repeated are left to the driver's retryable writes (exactly once). */
export function mongoDocuments<D extends object>(
  collection: MongoCollection<Entry>,
  { ttl }: Pick<Collection<D>, 'ttl'>,
  repeat: Repeat,
): Documents<D> {
  const fieldsOf = (document: D): Pick<Entry, 'd' | typeof EXPIRES> => {
    if (ttl === undefined) return { d: document };
    const expires: unknown = Object.entries(document).find(([field]) => field === ttl)?.[1];
    return typeof expires === 'string' ? { d: document, [EXPIRES]: new Date(expires) } : { d: document };
  };
  /** The update that makes an entry hold this document, or none. */
  const setting = (document: D | undefined, more: Document = {}): Document => {
    const fields = document === undefined ? {} : fieldsOf(document);
    const absent = ['d', EXPIRES].filter((field) => !(field in fields));
    return {
      ...(Object.keys({ ...more, ...fields }).length > 0 && { $set: { ...more, ...fields } }),
      ...(absent.length > 0 && { $unset: Object.fromEntries(absent.map((field) => [field, ''])) }),
      $inc: { v: 1 },
    };
  };

  async function readMany(keys: readonly string[]): Promise<WithId<Entry>[]> {
    if (keys.length === 0) return [];
    return repeat(() => collection.find({ _id: { $in: [...new Set(keys)] } }).toArray());
  }

  return {
    async get(key) {
      const entry = await repeat(() => collection.findOne({ _id: key }));
      return entry === null ? undefined : toStored<D>(entry);
    },

    async getMany(keys) {
      const entries = new Map((await readMany(keys)).map((entry) => [entry._id, entry]));
      return [...new Set(keys)].flatMap((key) => {
        const entry = entries.get(key);
        return (entry && toStored<D>(entry)) ?? [];
      });
    },

    async *find(query: Find<D>) {
      if (query.limit === 0) return;
      const cursor = collection.find(filterOf(query.where), { batchSize: PAGE });
      const sort = sortOf(query);
      if (sort.length > 0) cursor.sort(sort);
      if (query.limit !== undefined) cursor.limit(query.limit);
      try {
        await repeat(() => cursor.hasNext());
        for await (const entry of cursor) {
          const stored = toStored<D>(entry);
          if (stored !== undefined) yield stored;
        }
      } finally {
        await cursor.close();
      }
    },

    count: (query) => repeat(() => collection.countDocuments(filterOf(query?.where))),

    async insert(key, document) {
      try {
        await collection.insertOne({ _id: key, v: 1, ...fieldsOf(document) });
        return true;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
      }
      // A tombstone makes room.
      return changed(() => collection.updateOne({ _id: key, d: { $exists: false } }, setting(document)));
    },

    replace(key, document, version) {
      return changed(() => collection.updateOne({ _id: key, v: version, d: { $exists: true } }, setting(document)));
    },

    async delete(key, version) {
      const filter = { _id: key, d: { $exists: true }, ...(version !== undefined && { v: version }) };
      return (await collection.deleteOne(filter)).deletedCount === 1;
    },

    async project(writes) {
      if (writes.length === 0) return;
      // Two writes to one key in a batch have no order among each other in MongoDB: only the last one goes out.
      const last = new Map<string, Projected<D>>();
      for (const write of writes) {
        const other = last.get(write.key);
        if (other === undefined || other.position < write.position) last.set(write.key, write);
      }
      await repeat(async () => {
        const taken = await bulk([...last.values()], true);
        // Stored at a later position already, or by somebody else at the same moment at an earlier one.
        if (taken.length > 0) await bulk(taken, false);
      });
    },

    async projected(keys) {
      const found = new Map<string, Projected<D>>();
      for (const entry of await readMany(keys)) {
        const { _id: key, p: position } = entry;
        if (position !== undefined) found.set(key, { key, position, document: toStored<D>(entry)?.document });
      }
      return found;
    },
  };

  /** @returns the writes that would have inserted a key that there is */
  async function bulk(writes: readonly Projected<D>[], upsert: boolean): Promise<Projected<D>[]> {
    const operations = writes.map(
      ({ key, position, document }): AnyBulkWriteOperation<Entry> => ({
        updateOne: {
          filter: { _id: key, p: { $not: { $gte: position } } },
          update: setting(document, { p: position }),
          upsert,
        },
      }),
    );
    try {
      await collection.bulkWrite(operations, { ordered: false });
      return [];
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      const errors = [error.writeErrors].flat();
      const known = errors.every(({ code, errmsg }) => code === DUPLICATE_KEY && isAboutKey(errmsg));
      if (!known || errors.length === 0 || error.result.getWriteConcernError() !== undefined) throw error;
      return errors.flatMap(({ index }) => writes[index] ?? []);
    }
  }
}

function toStored<D extends object>({ _id: key, v: version, d }: Entry): Stored<D> | undefined {
  // A collection holds what was put into it, and its name stands for the type.
  return d === undefined ? undefined : { key, version, document: d as D };
}

async function changed(update: () => Promise<{ readonly matchedCount: number }>): Promise<boolean> {
  try {
    return (await update()).matchedCount === 1;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

const isDuplicate = (error: unknown): boolean => error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/** Tells the key of a document from a unique index over its fields. */
const isAboutKey = (message: string | undefined): boolean => /index: _id_\b|_id_ dup/.test(message ?? '');
