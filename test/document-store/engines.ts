import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite-document-store.ts';

/** An empty place for documents, and as many stores on it as a test likes: each stands for a process of its own. */
export type DocumentPlace = {
  open(): Promise<DocumentStore>;
  /** Closes what is still open and throws the place away. */
  remove(): Promise<void>;
};

export async function sqlitePlace(): Promise<DocumentPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-documents-'));
  const stores: DocumentStore[] = [];
  return {
    async open() {
      const store = await openSqliteDocumentStore({ folder });
      stores.push(store);
      return store;
    },
    async remove() {
      await Promise.all(stores.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
}

/** The document engines that this machine has, for `describe.each`. */
export const documentEngines: readonly (readonly [name: string, place: () => Promise<DocumentPlace>])[] = [
  ['SQLite', sqlitePlace],
];
