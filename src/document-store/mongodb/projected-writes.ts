import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { Projected } from '../document-store.ts';
import { existingKeys } from './duplicate-keys.ts';
import { type Entry, fieldsOf, updateTo } from './entry.ts';

/** Operations in one command. */
const CHUNK = 1_000;

/**
 * Writes the output of a projection. Documents only move forward. New ones are inserted, which costs the server half of an upsert.
 */
export async function writeProjected<D extends object>(
  collection: Collection<Entry>,
  ttl: string | undefined,
  writes: readonly Projected<D>[],
): Promise<void> {
  for (let from = 0; from < writes.length; from += CHUNK) {
    const last = lastOfEachKey(writes.slice(from, from + CHUNK));
    const [repeated, existing] = await Promise.all([
      insert(
        collection,
        ttl,
        last.filter(({ isNew }) => isNew),
      ),
      bulkWrite(
        collection,
        ttl,
        last.filter(({ isNew }) => !isNew),
        true,
      ),
    ]);
    // Already stored at a later position, or concurrently inserted by another process at an earlier one.
    await bulkWrite(collection, ttl, [...repeated, ...existing], false);
  }
}

/** @returns the writes whose keys already exist */
async function insert<D extends object>(
  collection: Collection<Entry>,
  ttl: string | undefined,
  writes: readonly Projected<D>[],
): Promise<Projected<D>[]> {
  if (writes.length === 0) return [];
  const entries = writes.map(
    ({ key, position, document }): Entry => ({ _id: key, v: 1, p: position, ...(document && fieldsOf(document, ttl)) }),
  );
  try {
    await collection.insertMany(entries, { ordered: false });
    return [];
  } catch (error) {
    return existingKeys(error).flatMap((index) => writes[index] ?? []);
  }
}

/**
 * An unordered bulk write may apply two writes to one key in any order, so only the last of them is sent. They are sorted by key: some
 * servers lock each document until the end of the command, and two processes that fold the same events would wait for each other.
 */
function lastOfEachKey<D extends object>(writes: readonly Projected<D>[]): Projected<D>[] {
  const last = new Map<string, Projected<D>>();
  for (const write of writes) {
    const previous = last.get(write.key);
    if (previous === undefined || previous.position < write.position) last.set(write.key, write);
  }
  return [...last.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** @returns the writes that tried to insert a key that already exists */
async function bulkWrite<D extends object>(
  collection: Collection<Entry>,
  ttl: string | undefined,
  writes: readonly Projected<D>[],
  upsert: boolean,
): Promise<Projected<D>[]> {
  if (writes.length === 0) return [];
  const operations = writes.map(
    ({ key, position, document }): AnyBulkWriteOperation<Entry> => ({
      updateOne: {
        filter: { _id: key, p: { $not: { $gte: position } } },
        update: updateTo(document, ttl, { p: position }),
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
