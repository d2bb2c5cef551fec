import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { inject } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../src/document-store/mongodb/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { lacks } from '../lacks.ts';
import { foundAt, type Tool } from '../tool.ts';
import type { MongoServer } from './mongodb/server.ts';
import { inDatabase, withOptions } from './mongodb/server-url.ts';

/** An empty database, with as many stores on it as a test needs: each stands for a separate process. */
export type TestDatabase = {
  open(): Promise<OperatedDocumentStore>;
  /** Closes all stores and removes the database. */
  remove(): Promise<void>;
};

export async function createSqliteDatabase(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-documents-'));
  return testDatabase(
    () => openSqliteDocumentStore({ folder }),
    () => rm(folder, { recursive: true }),
  );
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The engines of a suite: `npm test` has the embedded ones, and the system suite tests the same files on servers (test/suites.ts). */
    engines: 'embedded' | 'servers' | 'all';
  }
}
const engines = inject('engines');

/** The MongoDB of this run. */
const mongoServer: MongoServer =
  engines === 'embedded'
    ? { missing: 'this suite tests the embedded engines', install: 'npm run test:system' }
    : JSON.parse(await (await fetch(`http://127.0.0.1:${inject('mongoServer')}`)).text());

export const MONGODB: Tool = {
  name: 'MongoDB, or a stand-in',
  look: () => ('missing' in mongoServer ? mongoServer : { found: mongoServer.name }),
};
/** For what the stand-in does otherwise. */
export const REAL_MONGODB: Tool = {
  name: 'a real MongoDB',
  look() {
    const missing = 'missing' in mongoServer ? mongoServer.missing : mongoServer.notReal;
    const install = 'set MONGODB_URL, or start Docker';
    return missing === undefined ? { found: foundAt(MONGODB) } : { missing, install };
  },
};

/** The URL of a new database on it, which is dropped when the run has ended. */
export function ownDatabase(): string {
  if ('missing' in mongoServer) throw new Error(mongoServer.missing);
  return inDatabase(mongoServer.url, `${mongoServer.databases}${randomUUID().slice(0, 18)}`);
}

/** Waits a minute for a connection and an answer: on a busy machine a server needs seconds for a thousand documents. */
export const patient = (url: string): string =>
  withOptions(url, { connectTimeoutMS: 60_000, socketTimeoutMS: 60_000, waitQueueTimeoutMS: 60_000 });

async function createMongoDatabase(): Promise<TestDatabase> {
  const url = ownDatabase();
  return testDatabase(
    () => openMongoDocumentStore({ url: patient(url) }),
    async () => {
      const client = new MongoClient(url);
      await client.db().dropDatabase();
      await client.close();
    },
  );
}

function testDatabase(open: () => Promise<OperatedDocumentStore>, remove: () => Promise<unknown>): TestDatabase {
  const stores: OperatedDocumentStore[] = [];
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

/** The engines of this suite by name, for tests on servers where there are some. A file without tests would fail. */
export function ofThisSuite<E>(embedded: readonly E[], servers: readonly E[]): readonly E[] {
  return engines === 'servers' && servers.length > 0 ? servers : [...embedded, ...servers];
}

type DocumentEngine = readonly [name: string, createDatabase: () => Promise<TestDatabase>];
const SQLITE: DocumentEngine = ['SQLite', createSqliteDatabase];

/** The engines to test on, for `describe.each`. */
export const documentEngines: readonly DocumentEngine[] = ofThisSuite(
  [SQLITE],
  lacks(MONGODB) ? [] : [['MongoDB', createMongoDatabase]],
);

/** For what needs no other engine, in a file that is tested on each: the system suite does not repeat it on servers. */
export const onlyEmbedded: readonly DocumentEngine[] = documentEngines.filter(([name]) => name === 'SQLite');
