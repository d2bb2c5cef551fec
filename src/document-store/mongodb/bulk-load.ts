import type { Collection } from 'mongodb';
import type { BulkLoad, Documents, Projected } from '../document-store.ts';
import type { Entry, Retry } from './documents.ts';
import { existingKeys } from './duplicate-keys.ts';

/** Documents in one bulk write. */
const CHUNK = 1_000;
/** Bulk writes that are under way at once. */
const AT_ONCE = 4;

/**
 * Loads a collection without secondary indexes, which are made at the end. What is new is inserted, which costs the server half of an
 * update that may insert; what turns out to be there is updated as a projection does.
 */
export function mongoBulkLoad<D extends object>(deps: {
  readonly collection: Collection<Entry>;
  readonly documents: Pick<Documents<D>, 'project' | 'projected'>;
  /** Makes the indexes. */
  readonly finish: () => Promise<void>;
  readonly retry: Retry;
}): BulkLoad<D> {
  const { collection, documents, finish, retry } = deps;
  /** Keys that were found stored, so that inserting them would be in vain. */
  const stored = new Set<string>();

  async function writeChunk(chunk: readonly Projected<D>[]): Promise<void> {
    const there = chunk.filter(({ key }) => stored.has(key));
    const fresh = chunk.filter(({ key }) => !stored.has(key));
    if (fresh.length > 0) there.push(...(await insert(fresh)));
    await documents.project(there);
  }

  /** @returns what could not be inserted because its key is there */
  async function insert(fresh: readonly Projected<D>[]): Promise<Projected<D>[]> {
    const entries = fresh.map(
      ({ key, position, document }): Entry => ({ _id: key, v: 1, p: position, ...(document && { d: document }) }),
    );
    return retry(async () => {
      try {
        await collection.insertMany(entries, { ordered: false });
        return [];
      } catch (error) {
        return existingKeys(error).flatMap((index) => fresh[index] ?? []);
      }
    });
  }

  return {
    async projected(keys) {
      const found = await documents.projected(keys);
      for (const key of found.keys()) stored.add(key);
      return found;
    },

    async write(step, checkpoint) {
      for (let from = 0; from < step.length; from += CHUNK * AT_ONCE) {
        const chunks = Array.from({ length: AT_ONCE }, (_, i) => {
          const start = from + i * CHUNK;
          return step.slice(start, start + CHUNK);
        });
        await Promise.all(chunks.filter((chunk) => chunk.length > 0).map(writeChunk));
      }
      // What this step has written need not be remembered any longer.
      for (const { key } of step) stored.delete(key);
      return documents.project([], checkpoint);
    },

    finish,

    async close() {},
  };
}
