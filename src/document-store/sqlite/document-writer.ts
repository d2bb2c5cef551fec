import { type DocumentRow, openSqliteDocuments, type PlainCollection, type SqliteDocuments } from './documents.ts';
import { openSqliteFiles } from './files.ts';

/** Writes documents for other threads. A collection is opened with the first write to it. */
export async function openDocumentWriter(folder: string) {
  const files = await openSqliteFiles(folder);
  const opened = new Map<string, Promise<SqliteDocuments<Row>>>();

  function open(collection: PlainCollection): Promise<SqliteDocuments<Row>> {
    const documents = opened.get(collection.name) ?? openSqliteDocuments<Row>(files[collection.kind], collection);
    opened.set(collection.name, documents);
    documents.catch(() => opened.delete(collection.name));
    return documents;
  }

  /** If another release has added columns, the other thread has not read them yet. Take their values from the JSON. */
  const complete = (documents: SqliteDocuments<Row>, { json, columns }: DocumentRow): DocumentRow =>
    documents.hasColumns(columns) ? { json, columns } : { json, columns: JSON.parse(json) };

  return {
    async insert(collection: PlainCollection, key: string, row: DocumentRow, isRepeated: boolean): Promise<boolean> {
      const documents = await open(collection);
      return documents.forOthers.insert(key, complete(documents, row), isRepeated);
    },
    async replace(
      collection: PlainCollection,
      key: string,
      row: DocumentRow,
      version: number,
      isRepeated: boolean,
    ): Promise<boolean> {
      const documents = await open(collection);
      return documents.forOthers.replace(key, complete(documents, row), version, isRepeated);
    },
    async delete(
      collection: PlainCollection,
      key: string,
      version: number | undefined,
      isRepeated: boolean,
    ): Promise<boolean> {
      return (await open(collection)).forOthers.delete(key, version, isRepeated);
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
