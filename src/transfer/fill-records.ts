import { isDeepStrictEqual } from 'node:util';
import type { DocumentStore, Documents, OperatedDocumentStore } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { STORE_FORMAT } from '../store-identity/store-format.ts';
import { MEMORY_KEY, RECORDS_MEMORY, type RecordsMemory } from '../store-identity/store-memory.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** Documents per batch; on the embedded engine they share a commit. */
const BATCH = 500;

/** The declaration of a collection of records. */
type Declared = { readonly name: string; readonly ttl?: string | undefined };

/**
 * Marks an empty store as being filled. No process starts on it until the mark is removed. Does nothing if it was being filled from the
 * same copy.
 * @throws {UnusableCopy} with `refusal` if there are records already
 */
export async function beginFilling(
  documents: OperatedDocumentStore,
  mark: Required<Pick<RecordsMemory, 'logId' | 'probe' | 'standstill'>>,
  refusal: string,
): Promise<void> {
  const memory = await documents.open(RECORDS_MEMORY);
  const stored = await memory.get(MEMORY_KEY);
  if (isDeepStrictEqual(stored?.document.standstill, mark.standstill)) return;
  if (stored !== undefined || (await hasRecords(documents))) throw new UnusableCopy(refusal);
  await memory.insert(MEMORY_KEY, { format: STORE_FORMAT, ...mark });
}

async function hasRecords(documents: OperatedDocumentStore): Promise<boolean> {
  for (const { name, kind } of await documents.collections()) {
    if (kind !== 'record') continue;
    const collection = await documents.open({ name, kind, indexes: [] });
    for await (const _ of collection.find(everyDocument())) return true;
  }
  return false;
}

/** Fills one collection. Existing documents were stored before an interruption. */
export async function openFilling(documents: Pick<DocumentStore, 'open'>, { name, ttl }: Declared) {
  const declared = ttl === undefined ? {} : { ttl };
  const collection: Documents<object> = await documents.open<Record<string, unknown>>({
    name,
    kind: 'record',
    indexes: [],
    ...declared,
  });
  let batch: Promise<boolean>[] = [];
  let added = 0;

  return {
    async add(key: string, document: object): Promise<void> {
      added += 1;
      batch.push(collection.insert(key, document));
      if (batch.length < BATCH) return;
      await Promise.all(batch);
      batch = [];
    },

    /** @throws {UnusableCopy} if not all of them are there */
    async end(): Promise<void> {
      await Promise.all(batch);
      const stored = await collection.count(everyDocument());
      // Expired documents may be gone already.
      if (stored !== added && ttl === undefined)
        throw new UnusableCopy(`${stored} of the ${added} documents of ${name} could be restored`);
    },
  };
}
