import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BaseLogger } from 'pino';
import type { Config } from './config.ts';
import type { DocumentStore } from './document-store/document-store.ts';
import { defined } from './domain/defined.ts';
import type { EventStore } from './event-store/event-store.ts';
import type { Clock } from './runtime/clock.ts';
import { isThisMachine } from './runtime/place.ts';
import { Unavailable } from './runtime/unavailable.ts';
import { UnusableStore } from './runtime/unusable-store.ts';
import type { Places } from './store-identity/store-identity.ts';

/** Where the stores are: in `DATA_DIR`, or on the engines that URLs name. */
export type StoreConfig = Pick<Config, 'dataDir' | 'eventStoreUrl' | 'mongoUrl'>;

const LOG_FILE = 'events.db';
const RECORDS_FILE = 'records.sqlite';
const READ_MODELS_FILE = 'read-models.sqlite';

/** How messages name the parts of the store. URLs may hold passwords, so engines are named by their setting. */
export const placesOf = ({ eventStoreUrl, mongoUrl, dataDir }: StoreConfig): Places => ({
  log: eventStoreUrl === undefined ? join(dataDir, LOG_FILE) : 'EVENTSTORE_URL',
  records: mongoUrl === undefined ? join(dataDir, RECORDS_FILE) : 'MONGODB_URL',
  readModels: mongoUrl === undefined ? join(dataDir, READ_MODELS_FILE) : 'MONGODB_URL',
});

/** Whether any part of the store is kept in files in `DATA_DIR`. */
export const isEmbedded = ({ eventStoreUrl, mongoUrl }: StoreConfig): boolean =>
  eventStoreUrl === undefined || mongoUrl === undefined;

// Engines are imported only when configured: the embedded service should not have to load the clients of the others.

export async function openEvents(
  { eventStoreUrl, dataDir }: StoreConfig,
  logger: Pick<BaseLogger, 'warn'>,
): Promise<EventStore> {
  if (eventStoreUrl === undefined) {
    const { openSqliteEventStore } = await import('./event-store/sqlite/event-store.ts');
    return openSqliteEventStore({ path: join(dataDir, LOG_FILE), logger });
  }
  const { openEventStoreDb } = await import('./event-store/eventstoredb/event-store.ts');
  return openEventStoreDb({ url: eventStoreUrl, logger }).catch(inOneLine('EVENTSTORE_URL'));
}

/** By which clock documents are removed that have expired. */
type Expiry = { readonly clock?: Clock; readonly believes?: () => Promise<boolean> };

export async function openSqliteDocuments(folder: string, expiry: Expiry = {}): Promise<DocumentStore> {
  const { openSqliteDocumentStore } = await import('./document-store/sqlite/document-store.ts');
  return openSqliteDocumentStore({ folder, ...expiry });
}

export async function openDocuments(
  { mongoUrl, dataDir }: StoreConfig,
  logger?: Pick<BaseLogger, 'warn'>,
  expiry?: Expiry,
): Promise<DocumentStore> {
  if (mongoUrl === undefined) return openSqliteDocuments(dataDir, expiry);
  const { openMongoDocumentStore } = await import('./document-store/mongodb/document-store.ts');
  return openMongoDocumentStore({ url: mongoUrl, ...defined({ logger }) }).catch(inOneLine('MONGODB_URL'));
}

/** Names the setting of an engine that cannot be reached, and the reason. */
const inOneLine =
  (setting: string) =>
  (error: unknown): never => {
    if (!(error instanceof Unavailable)) throw error;
    const reason = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    throw new UnusableStore(`${setting}: ${error.message}${reason}`, error);
  };

/** Whether this machine runs the servers that the URLs name, as far as it can tell. Then they have its clock. */
export async function sharesMachine({ eventStoreUrl, mongoUrl }: StoreConfig): Promise<boolean> {
  const urls = [eventStoreUrl, mongoUrl].filter((url) => url !== undefined);
  return (await Promise.all(urls.flatMap(hostsOf).map(isThisMachine))).every((isHere) => isHere);
}

/** The hosts in the URL of an engine, which may name several. */
const hostsOf = (url: string): string[] => {
  const [, hosts = ''] = /^[^:]+:\/\/(?:[^@/?]*@)?([^/?]+)/.exec(url) ?? [];
  return hosts.split(',').map((host) => host.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''));
};

/**
 * Throws all read models away, those of another store and damaged ones included. They are built anew from the log.
 * @throws {Error} if a process has the store open
 */
export async function discardReadModels(config: StoreConfig): Promise<void> {
  const release = await takeStoreAlone(config);
  try {
    if (config.mongoUrl === undefined) {
      for (const side of ['', '-wal', '-shm'])
        rmSync(join(config.dataDir, `${READ_MODELS_FILE}${side}`), { force: true });
      return;
    }
    const documents = await openDocuments(config);
    try {
      for (const { name, kind } of await documents.collections()) if (kind === 'readModel') await documents.drop(name);
    } finally {
      await documents.close();
    }
  } finally {
    release();
  }
}

/** Keeps every other process of this machine from the embedded files, until they are released. */
async function takeStoreAlone({ dataDir, eventStoreUrl, mongoUrl }: StoreConfig): Promise<() => void> {
  const { takeAlone } = await import('./sqlite/alone.ts');
  const files = [
    ...(eventStoreUrl === undefined ? [LOG_FILE] : []),
    ...(mongoUrl === undefined ? [RECORDS_FILE, READ_MODELS_FILE] : []),
  ];
  const release = takeAlone(files.map((file) => join(dataDir, file)));
  if (release === undefined) throw new Error(`A process has the store in ${dataDir} open. Stop the service first.`);
  return release;
}
