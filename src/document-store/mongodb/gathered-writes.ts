import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { gatherCalls } from '../../event-loop/gathered-calls.ts';
import { OutcomeUnknown } from '../../runtime/unavailable.ts';
import { existingKeys } from './duplicate-keys.ts';
import { type Entry, fieldsOf, updateTo } from './entry.ts';
import type { Retry } from './failures.ts';
import { at, type RecordWrites, writeId } from './record-writes.ts';

type Insert<D> = { readonly key: string; readonly document: D; readonly w: string };
type Replacement<D> = Insert<D> & { readonly version: number };

/** The outcome of each write of a command. */
type Outcomes<W> = ReadonlyMap<W, Promise<boolean>>;

/**
 * Inserts and replacements of single documents, of which those that are made at the same time share a command. Without conflicts nothing
 * else is asked. A command that fails is repeated write by write.
 */
export function gatherWrites<D extends object>(
  { collection, ttl, retry }: { collection: Collection<Entry>; ttl: string | undefined; retry: Retry },
  single: Pick<RecordWrites<D>, 'insert' | 'replace'>,
) {
  const insertOne = ({ key, document, w }: Insert<D>, lost?: Error) =>
    single.insert(key, document, { w, ...(lost && { lost }) });
  const replaceOne = ({ key, document, version, w }: Replacement<D>, lost?: Error) =>
    single.replace(key, document, version, { w, ...(lost && { lost }) });

  const insert = gatherCalls(async (inserts: readonly Insert<D>[]): Promise<Outcomes<Insert<D>>> => {
    if (inserts.length === 1) return each(inserts, (one) => insertOne(one));
    const entries = inserts.map(({ key, document, w }): Entry => ({ _id: key, v: 1, w, ...fieldsOf(document, ttl) }));
    try {
      await collection.insertMany(entries, { ordered: false });
      return each(inserts, async () => true);
    } catch (error) {
      const taken = takenKeys(error);
      if (taken === undefined) return each(inserts, (one) => insertOne(one, lostOf(error)));
      // What is stored may be a tombstone.
      return each(inserts, async (one, index) => !taken.has(index) || insertOne(one));
    }
  });

  const replace = gatherCalls(async (writes: readonly Replacement<D>[]): Promise<Outcomes<Replacement<D>>> => {
    if (writes.length === 1) return each(writes, (one) => replaceOne(one));
    const operations = writes.map(
      ({ key, document, version, w }): AnyBulkWriteOperation<Entry> => ({
        updateOne: { filter: at(key, version), update: updateTo(document, ttl, { w }) },
      }),
    );
    try {
      const { matchedCount } = await collection.bulkWrite(operations, { ordered: false });
      if (matchedCount === writes.length) return each(writes, async () => true);
    } catch (error) {
      return each(writes, (one) => replaceOne(one, lostOf(error)));
    }
    const stored = await retry(() => collection.find({ _id: { $in: writes.map(({ key }) => key) } }).toArray());
    const byKey = new Map(stored.map((entry) => [entry._id, entry]));
    return each(writes, async (one) => wasWritten(one, byKey.get(one.key)));
  });

  return {
    insert: async (key: string, document: D): Promise<boolean> =>
      (await insert({ key, document, w: writeId() })) ?? false,
    replace: async (key: string, document: D, version: number): Promise<boolean> =>
      (await replace({ key, document, version, w: writeId() })) ?? false,
  };
}

/** The inserts whose keys exist; undefined if the command failed for another reason. */
function takenKeys(error: unknown): ReadonlySet<number> | undefined {
  try {
    return new Set(existingKeys(error));
  } catch {
    return undefined;
  }
}

const lostOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Whether a replacement among others was applied, by what is stored after the command. */
function wasWritten({ key, version, w }: Replacement<unknown>, stored: Entry | undefined): boolean {
  if (stored?.w === w) return true;
  if ((stored?.v ?? 0) > version + 1)
    throw new OutcomeUnknown(`Document ${key} was changed by others; the outcome of the write is unknown`);
  return false;
}

const each = <W>(writes: readonly W[], outcome: (write: W, index: number) => Promise<boolean>): Outcomes<W> =>
  new Map(writes.map((write, index) => [write, outcome(write, index)]));
