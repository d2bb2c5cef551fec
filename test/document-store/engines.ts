import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { inject } from 'vitest';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../src/document-store/mongodb/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { MongoServer } from './mongodb/server.ts';

/** An empty database, with as many stores on it as a test needs: each stands for a separate process. */
export type DocumentPlace = {
  open(): Promise<DocumentStore>;
  /** Closes all stores and removes the database. */
  remove(): Promise<void>;
};

export async function sqlitePlace(): Promise<DocumentPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-documents-'));
  return placeOf(
    () => openSqliteDocumentStore({ folder }),
    () => rm(folder, { recursive: true }),
  );
}

/** The MongoDB of this run. */
export const mongoServer: MongoServer = JSON.parse(
  await (await fetch(`http://127.0.0.1:${inject('mongoServer')}`)).text(),
);

async function mongoPlace(): Promise<DocumentPlace> {
  if ('missing' in mongoServer) throw new Error(mongoServer.missing);
  const { url } = mongoServer;
  const database = `test-${randomUUID()}`;
  return placeOf(
    () => openMongoDocumentStore({ url, database }),
    async () => {
      const client = new MongoClient(url);
      await client.db(database).dropDatabase();
      await client.close();
    },
  );
}

function placeOf(open: () => Promise<DocumentStore>, remove: () => Promise<unknown>): DocumentPlace {
  const stores: DocumentStore[] = [];
  return {
    async open() {
      const store = await open();
      stores.push(store);
      return store;
    },
    async remove() {
      await Promise.all(stores.map((store) => store.close()));
      await remove();
    },
  };
}

/** The engines available here, for `describe.each`. */
export const documentEngines: readonly (readonly [name: string, place: () => Promise<DocumentPlace>])[] = [
  ['SQLite', sqlitePlace],
  ...('missing' in mongoServer ? [] : [['MongoDB', mongoPlace] as const]),
];
