import {
  openSqliteDocuments,
  type PlainCollection,
  type SqliteDocuments,
  type WritesElsewhere,
  type Written,
} from './documents.ts';
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

  /** Another release may have added columns, which the other thread does not know of yet: then they are in the JSON alone. */
  const complete = (documents: SqliteDocuments<Row>, { json, columns }: Written): Written =>
    documents.hasColumns(columns) ? { json, columns } : { json, columns: JSON.parse(json) };

  return {
    async insert(collection, key, written) {
      const documents = await open(collection);
      return documents.insertWritten(key, complete(documents, written));
    },
    async replace(collection, key, written, version) {
      const documents = await open(collection);
      return documents.replaceWritten(key, complete(documents, written), version);
    },
    delete: async (collection, key, version) => (await open(collection)).delete(key, version),
    sweep: async (collection, now) => (await open(collection)).sweep(now),
    async close() {
      await Promise.all(Object.values(files).map((file) => file.close()));
    },
  };
}

type Row = { readonly [field: string]: unknown };
