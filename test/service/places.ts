import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../src/document-store/mongodb/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { inProcessWith, jsonWith } from '../cli/in-process.ts';
import { ownDatabase } from '../document-store/engines.ts';
import { createOwnLog } from '../event-store/eventstoredb/own-log.ts';
import type { Environment } from './node-process.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir } from './service-process.ts';

/** Empty engines, and how a service and the command line use them. */
export type Place = {
  readonly dataDir: string;
  readonly env: Environment;
  start(env?: Environment): Promise<ServiceProcess>;
  /** Runs a command inside this process. */
  run(...args: readonly string[]): ReturnType<typeof inProcessWith>;
  /** Runs a command that must succeed, inside this process, and parses its JSON output. */
  json(...args: readonly string[]): Promise<ReturnType<typeof JSON.parse>>;
  /** Opens its log and its documents, as another process would. */
  onStores<R>(work: (events: OperatedEventStore, documents: DocumentStore) => Promise<R>): Promise<R>;
};

function place(
  settings: Environment,
  open: (dataDir: string) => Promise<readonly [OperatedEventStore, DocumentStore]>,
): Place {
  const dataDir = temporaryDataDir();
  const env = { DATA_DIR: dataDir, ...settings };
  return {
    dataDir,
    env,
    start: (more = {}) => startServiceProcess(dataDir, { ...env, ...more }),
    run: (...args) => inProcessWith(env, ...args),
    json: (...args) => jsonWith(env, ...args),
    async onStores(work) {
      const [events, documents] = await open(dataDir);
      return work(events, documents).finally(() => Promise.all([events.close(), documents.close()]));
    },
  };
}

export const embeddedPlace = async (settings: Environment): Promise<Place> =>
  place(settings, async (folder) => [
    await openSqliteEventStore({ path: join(folder, 'events.db') }),
    await openSqliteDocumentStore({ folder }),
  ]);

/** EventStoreDB, or the test server, and MongoDB, or its stand-in. */
export async function serversPlace(settings: Environment): Promise<Place> {
  const log = await createOwnLog();
  onTestFinished(() => log.stop());
  const url = ownDatabase();
  return place({ ...log.settings, MONGODB_URL: url, ...settings }, async () => [
    await log.open(),
    await openMongoDocumentStore({ url }),
  ]);
}
