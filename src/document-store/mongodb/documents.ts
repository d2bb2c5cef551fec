import { randomBytes } from 'node:crypto';
import type { AnyBulkWriteOperation, Document, Collection as MongoCollection, WithId } from 'mongodb';
import { AbortError } from 'p-retry';
import { inPages } from '../../runtime/in-pages.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { Collection, Documents, Find, NextCheckpoint, Projected, Stored, Unread } from '../document-store.ts';
import { type CompareAndSet, updateDocument } from '../update.ts';
import { existingKeys, isDuplicate } from './duplicate-keys.ts';
import { unavailable } from './failures.ts';
import { gatherReads } from './gathered-reads.ts';
import { EXPIRES, filterOf, sortOf } from './query.ts';

/** Documents per batch of a cursor. */
const BATCH_SIZE = 500;

/** A document as stored in MongoDB. A tombstone has no `d`. */
export type Entry = {
  readonly _id: string;
  /** Version. */
  readonly v: number;
  /** Log position of the last projection. */
  readonly p?: string;
  readonly d?: Document;
  /** Identifies the last insert or replacement, to recognise one whose response was lost. */
  readonly w?: string;
  /** When the document may be removed. */
  readonly [EXPIRES]?: Date;
};

/** Runs an operation and repeats it after transient failures, which leave its outcome unknown. */
export type Retry = <R>(operation: () => Promise<R>) => Promise<R>;

/**
 * A MongoDB collection. A write repeated after a lost response is applied once, also by a standalone server.
 * @param deps.repeatsWrites whether the server supports retryable writes
 */
export function mongoDocuments<D extends object>(
  collection: MongoCollection<Entry>,
  { ttl }: Pick<Collection<D>, 'ttl'>,
  deps: {
    readonly retry: Retry;
    readonly repeatsWrites: () => boolean;
    readonly advance: (checkpoint: NextCheckpoint) => Promise<boolean>;
  },
): Documents<D> {
  const { retry, repeatsWrites } = deps;
  const fieldsOf = (document: D): Pick<Entry, 'd' | typeof EXPIRES> => {
    if (ttl === undefined) return { d: document };
    const expires: unknown = Object.entries(document).find(([field]) => field === ttl)?.[1];
    return typeof expires === 'string' ? { d: document, [EXPIRES]: new Date(expires) } : { d: document };
  };
  /** The update that sets the document of an entry, or turns it into a tombstone. */
  const updateTo = (document: D | undefined, more: Document = {}): Document => {
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
    return retry(() => collection.find({ _id: { $in: [...new Set(keys)] } }).toArray());
  }

  const compareAndSet: CompareAndSet<D> = {
    get: gatherReads(async (keys) => {
      const found = new Map<string, Stored<D>>();
      for (const entry of await readMany(keys)) {
        const stored = toStored<D>(entry);
        if (stored !== undefined) found.set(stored.key, stored);
      }
      return found;
    }),

    insert(key, document) {
      const w = writeId();
      return orUnknown(async (lost) => {
        try {
          await collection.insertOne({ _id: key, v: 1, w, ...fieldsOf(document) });
          return true;
        } catch (error) {
          if (!isDuplicate(error)) throw error;
        }
        // An inserted document has version 1.
        if (lost !== undefined && (await wasApplied(lost, { key, w, replacedBy: (entry) => (entry?.v ?? 0) > 1 })))
          return true;
        // A tombstone may be overwritten.
        return matched(() => collection.updateOne({ _id: key, d: { $exists: false } }, updateTo(document, { w })));
      });
    },

    replace: (key, document, version) => replaceWith(key, document, version, writeId()),
  };

  return {
    get: compareAndSet.get,
    insert: compareAndSet.insert,

    async getMany(keys) {
      const entries = new Map((await readMany(keys)).map((entry) => [entry._id, entry]));
      return [...new Set(keys)].flatMap((key) => {
        const entry = entries.get(key);
        return (entry && toStored<D>(entry)) ?? [];
      });
    },

    async *find(query: Find<D>) {
      if (query.limit === 0) return;
      const cursor = await retry(async () => {
        // Open a new cursor for each attempt: a failed one is closed and would return no documents.
        const asked = collection.find(filterOf(query.where), { batchSize: BATCH_SIZE });
        const sort = sortOf(query);
        if (sort.length > 0) asked.sort(sort);
        if (query.limit !== undefined) asked.limit(query.limit);
        try {
          await asked.hasNext();
          return asked;
        } catch (error) {
          await asked.close().catch(() => {});
          throw error;
        }
      });
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

    count: (query) => retry(() => collection.countDocuments(filterOf(query?.where))),

    update: (key, change, known) => updateDocument(compareAndSet, key, change, known),

    async delete(key, version) {
      if (!repeatsWrites()) return remove(key, version);
      const filter = { _id: key, d: { $exists: true }, ...(version !== undefined && { v: version }) };
      return orUnknown(async (lost) => {
        if ((await collection.deleteOne(filter)).deletedCount === 1) return true;
        // The server did not recognise the retry, so it is unknown whether the lost attempt deleted the document.
        if (lost !== undefined) throw new AbortError(lost);
        return false;
      });
    },

    async project(writes, checkpoint) {
      // An unordered bulk write may apply two writes to one key in any order, so only the last of them is sent.
      const last = new Map<string, Projected<D>>();
      for (const write of writes) {
        const previous = last.get(write.key);
        if (previous === undefined || previous.position < write.position) last.set(write.key, write);
      }
      if (last.size > 0)
        await retry(async () => {
          const existing = await bulk([...last.values()], true);
          // Already stored at a later position, or concurrently inserted by another process at an earlier one.
          if (existing.length > 0) await bulk(existing, false);
        });
      return checkpoint === undefined || deps.advance(checkpoint);
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

  /**
   * Whether a write whose response was lost has been applied. Resolves once a majority has it.
   * @param of.replacedBy whether the stored document may have overwritten it
   * @throws {AbortError} with the original error, if the outcome is unknown
   */
  async function wasApplied(
    lost: Error,
    of: { readonly key: string; readonly w: string; readonly replacedBy: (entry: Entry | null) => boolean },
  ): Promise<boolean> {
    const { key, w, replacedBy } = of;
    // A write without changes: unlike a read, it waits until earlier writes have reached a majority.
    if (await matched(() => collection.updateOne({ _id: key, w }, { $set: { w } }))) return true;
    if (replacedBy(await collection.findOne({ _id: key }, { readConcern: { level: 'local' } })))
      throw new AbortError(lost);
    return false;
  }

  /** Writes a document, or a tombstone, over the one at a version, or at any. */
  function replaceWith(key: string, document: D | undefined, version: number | undefined, w: string): Promise<boolean> {
    const filter = { _id: key, d: { $exists: true }, ...(version !== undefined && { v: version }) };
    return orUnknown(async (lost) => {
      if (await matched(() => collection.updateOne(filter, updateTo(document, { w })))) return true;
      if (lost === undefined) return false;
      const replacedBy = (entry: Entry | null) =>
        entry === null ? document !== undefined : version !== undefined && entry.v > version + 1;
      return wasApplied(lost, { key, w, replacedBy });
    });
  }

  /** Deletes in two steps: the first is recognised if its response was lost, the second can be repeated. */
  async function remove(key: string, version: number | undefined): Promise<boolean> {
    const w = writeId();
    if (!(await replaceWith(key, undefined, version, w))) return false;
    await retry(() => collection.deleteOne({ _id: key, w, d: { $exists: false } }));
    return true;
  }

  /** Repeats a write after transient failures and passes the first of them to it. */
  async function orUnknown(write: (lost: Error | undefined) => Promise<boolean>): Promise<boolean> {
    let lost: Error | undefined;
    return retry(async () => {
      try {
        return await write(lost);
      } catch (error) {
        if (error instanceof Error && !(error instanceof AbortError)) lost ??= error;
        throw error;
      }
    });
  }

  /** @returns the writes that tried to insert a key that already exists */
  async function bulk(writes: readonly Projected<D>[], upsert: boolean): Promise<Projected<D>[]> {
    const operations = writes.map(
      ({ key, position, document }): AnyBulkWriteOperation<Entry> => ({
        updateOne: {
          filter: { _id: key, p: { $not: { $gte: position } } },
          update: updateTo(document, { p: position }),
          upsert,
        },
      }),
    );
    try {
      await collection.bulkWrite(operations, { ordered: false });
      return [];
    } catch (error) {
      return existingKeys(error).flatMap((index) => writes[index] ?? []);
    }
  }
}

function toStored<D extends object>({ _id: key, v: version, d }: Entry): Stored<D> | undefined {
  // A collection's name determines the type of its documents.
  return d === undefined ? undefined : { key, version, document: d as D };
}

async function matched(update: () => Promise<{ readonly matchedCount: number }>): Promise<boolean> {
  try {
    return (await update()).matchedCount === 1;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

const writeId = (): string => randomBytes(9).toString('base64url');
