import { randomBytes } from 'node:crypto';
import type { Collection } from 'mongodb';
import { AbortError } from 'p-retry';
import { isDuplicate } from './duplicate-keys.ts';
import { type Entry, fieldsOf, updateTo } from './entry.ts';
import type { Retry } from './failures.ts';

/** An earlier attempt whose response was lost, and the `w` that it wrote. */
export type Attempted = { readonly w: string; readonly lost: Error };

export type RecordWrites<D extends object> = ReturnType<typeof createRecordWrites<D>>;

/** Writes of single documents. One that is repeated after a lost response is applied once, whatever the server can do. */
export function createRecordWrites<D extends object>(
  collection: Collection<Entry>,
  ttl: string | undefined,
  retry: Retry,
) {
  /** Repeats a write after transient failures and passes the first of them to it. */
  async function orUnknown(
    write: (lost: Error | undefined) => Promise<boolean>,
    before: Error | undefined,
  ): Promise<boolean> {
    let lost = before;
    return retry(async () => {
      try {
        return await write(lost);
      } catch (error) {
        if (error instanceof Error && !(error instanceof AbortError)) lost ??= error;
        throw error;
      }
    });
  }

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
  function replaceWith(
    key: string,
    document: D | undefined,
    version: number | undefined,
    { w, lost: before }: Pick<Attempted, 'w'> & Partial<Attempted>,
  ): Promise<boolean> {
    return orUnknown(async (lost) => {
      if (await matched(() => collection.updateOne(at(key, version), updateTo(document, ttl, { w })))) return true;
      if (lost === undefined) return false;
      const replacedBy = (entry: Entry | null) =>
        entry === null ? document !== undefined : version !== undefined && entry.v > version + 1;
      return wasApplied(lost, { key, w, replacedBy });
    }, before);
  }

  return {
    insert(key: string, document: D, { w = writeId(), lost: before }: Partial<Attempted> = {}): Promise<boolean> {
      return orUnknown(async (lost) => {
        try {
          await collection.insertOne({ _id: key, v: 1, w, ...fieldsOf(document, ttl) });
          return true;
        } catch (error) {
          if (!isDuplicate(error)) throw error;
        }
        // An inserted document has version 1.
        if (lost !== undefined && (await wasApplied(lost, { key, w, replacedBy: (entry) => (entry?.v ?? 0) > 1 })))
          return true;
        // A tombstone may be overwritten.
        const tombstone = { _id: key, d: { $exists: false } };
        return matched(() => collection.updateOne(tombstone, updateTo(document, ttl, { w })));
      }, before);
    },

    replace: (key: string, document: D, version: number, { w = writeId(), lost }: Partial<Attempted> = {}) =>
      replaceWith(key, document, version, { w, ...(lost && { lost }) }),

    async delete(key: string, version?: number): Promise<boolean> {
      // In two steps: the first is recognised if its response was lost, the second can be repeated.
      const w = writeId();
      if (!(await replaceWith(key, undefined, version, { w }))) return false;
      await retry(() => collection.deleteOne({ _id: key, w, d: { $exists: false } }));
      return true;
    },
  };
}

/** A document, not a tombstone, at a version or at any. */
export const at = (key: string, version: number | undefined) => ({
  _id: key,
  d: { $exists: true },
  ...(version !== undefined && { v: version }),
});

async function matched(update: () => Promise<{ readonly matchedCount: number }>): Promise<boolean> {
  try {
    return (await update()).matchedCount === 1;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

export const writeId = (): string => randomBytes(9).toString('base64url');
