import type { SqliteDocuments, WritesElsewhere } from './documents.ts';
import { openSqliteDocuments, type PlainCollection } from './documents.ts';
import { openSqliteFiles } from './files.ts';

export type DocumentWriter = WritesElsewhere & { close(): Promise<void> };

/** Writes documents for other threads. A collection is opened with the first write to it. */
export async function openDocumentWriter(folder: string): Promise<DocumentWriter> {
  const files = await openSqliteFiles(folder);
  const opened = new Map<string, Promise<SqliteDocuments<Row>>>();

  function open(collection: PlainCollection): Promise<SqliteDocuments<Row>> {
    const documents = opened.get(collection.name) ?? openSqliteDocuments<Row>(files[collection.kind], collection);
    opened.set(collection.name, documents);
    documents.catch(() => opened.delete(collection.name));
    return documents;
  }

  return {
    insert: async (collection, key, json) => (await open(collection)).insert(key, JSON.parse(json)),
    replace: async (collection, key, json, version) => (await open(collection)).replace(key, JSON.parse(json), version),
    delete: async (collection, key, version) => (await open(collection)).delete(key, version),
    sweep: async (collection, now) => (await open(collection)).sweep(now),
    async close() {
      await Promise.all(Object.values(files).map((file) => file.close()));
    },
  };
}

type Row = { readonly [field: string]: unknown };
