import { type DocumentWrite, openSqliteDocuments, type PlainCollection, type SqliteDocuments } from './documents.ts';
import type { FileOptions } from './file.ts';
import { openSqliteFiles } from './files.ts';

/** Writes documents for other threads. A collection is opened with the first write to it. */
export async function openDocumentWriter(folder: string, options: FileOptions) {
  const files = await openSqliteFiles(folder, options);
  const opened = new Map<string, Promise<SqliteDocuments<Row>>>();

  function open(collection: PlainCollection): Promise<SqliteDocuments<Row>> {
    const documents = opened.get(collection.name) ?? openSqliteDocuments<Row>(files[collection.kind], collection);
    opened.set(collection.name, documents);
    documents.catch(() => opened.delete(collection.name));
    return documents;
  }

  /** If another release has added columns, the other thread has not read them yet. Take their values from the JSON. */
  function complete(documents: SqliteDocuments<Row>, write: DocumentWrite): DocumentWrite {
    if (write.type === 'delete' || documents.hasColumns(write.row.columns)) return write;
    const { json } = write.row;
    return { ...write, row: { json, columns: JSON.parse(json) } };
  }

  return {
    async write(collection: PlainCollection, write: DocumentWrite, isRepeated: boolean): Promise<boolean> {
      const documents = await open(collection);
      return documents.write(complete(documents, write), isRepeated);
    },
    async sweep(collection: PlainCollection, now: string): Promise<void> {
      await (await open(collection)).sweep(now);
    },
    async close(): Promise<void> {
      await Promise.all(Object.values(files).map((file) => file.close()));
    },
  };
}

type Row = { readonly [field: string]: unknown };
