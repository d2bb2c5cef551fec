import type { Collection } from 'mongodb';
import type { BulkLoad, Documents, Projected } from '../document-store.ts';
import { existingKeys } from './duplicate-keys.ts';
import type { Entry } from './entry.ts';
import type { Retry } from './failures.ts';

/** Documents in one bulk write. */
const CHUNK = 1_000;
/** Concurrent bulk writes. */
const AT_ONCE = 4;

/**
 * Loads a collection and creates its secondary indexes at the end. New documents are inserted, which costs the server half of an
 * upsert; existing ones are updated like in a projection.
 */
export function mongoBulkLoad<D extends object>(deps: {
  readonly collection: Collection<Entry>;
  readonly documents: Pick<Documents<D>, 'project' | 'projected'>;
  /** Creates the indexes. */
  readonly finish: () => Promise<void>;
  readonly retry: Retry;
}): BulkLoad<D> {
  const { collection, documents, finish, retry } = deps;
  /** Keys known to be stored, for which an insert would fail. */
  const stored = new Set<string>();

  async function writeChunk(chunk: readonly Projected<D>[]): Promise<void> {
    const there = chunk.filter(({ key }) => stored.has(key));
    const fresh = chunk.filter(({ key }) => !stored.has(key));
    const repeated = fresh.length > 0 ? await insert(fresh) : [];
    await documents.project(there.concat(repeated));
  }

  /** @returns the documents whose keys already exist */
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
      // This step's keys are written.
      for (const { key } of step) stored.delete(key);
      return documents.project([], checkpoint);
    },

    finish,

    async close() {},
  };
}
