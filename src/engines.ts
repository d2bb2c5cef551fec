import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BaseLogger } from 'pino';
import type { Config } from './config.ts';
import type { OperatedDocumentStore } from './document-store/document-store.ts';
import type { DocumentsElsewhere } from './document-store/sqlite/document-store.ts';
import { defined } from './domain/defined.ts';
import { LATER_STREAM_KINDS, STREAM_KINDS } from './domain/streams.ts';
import type { OperatedEventStore } from './event-store/event-store.ts';
import type { SqliteEventStoreOptions } from './event-store/sqlite/event-store.ts';
import { hasLiveProcess } from './leases/heartbeats.ts';
import { highestMark } from './outbox/marks.ts';
import type { Clock } from './runtime/clock.ts';
import { FOLDER_OWNER_ONLY } from './runtime/private-file.ts';
import { Unavailable } from './runtime/unavailable.ts';
import { StoreInUse, UnusableStore } from './runtime/unusable-store.ts';
import type { StoreLocations } from './store-identity/store-check.ts';
import { openStoreIdentity, type StoreIdentity } from './store-identity/store-identity.ts';
import type { Writer } from './threads/writer.ts';

/** The location of the stores: `DATA_DIR`, or the engines' URLs. */
export type StoreConfig = Pick<Config, 'dataDir' | 'eventStoreUrl' | 'eventStorePrefix' | 'mongoUrl'>;

const LOG_FILE = 'events.db';
const RECORDS_FILE = 'records.sqlite';
const READ_MODELS_FILE = 'read-models.sqlite';
/** The folder of the read models that have files of their own. */
const READ_MODELS_FOLDER = 'read-models';

/** The names of the stores in messages. URLs may contain passwords, so engines are named by their setting. */
export const locationsOf = ({ eventStoreUrl, mongoUrl, dataDir }: StoreConfig): StoreLocations => ({
  log: eventStoreUrl === undefined ? join(dataDir, LOG_FILE) : 'EVENTSTORE_URL',
  records: mongoUrl === undefined ? join(dataDir, RECORDS_FILE) : 'MONGODB_URL',
  readModels: mongoUrl === undefined ? join(dataDir, READ_MODELS_FILE) : 'MONGODB_URL',
});

/** The engine of each store. */
const enginesOf = ({ eventStoreUrl, mongoUrl }: StoreConfig) => ({
  log: eventStoreUrl === undefined ? ('embedded' as const) : ('EventStoreDB' as const),
  documents: mongoUrl === undefined ? ('embedded' as const) : ('MongoDB' as const),
});

/** Whether any part of the store is kept in files in `DATA_DIR`. */
export const isEmbedded = ({ eventStoreUrl, mongoUrl }: StoreConfig): boolean =>
  eventStoreUrl === undefined || mongoUrl === undefined;

// Engines are imported only when configured: the embedded service should not have to load the clients of the others.

/** Opens only the log. @throws {UnusableStore} if it cannot be used */
export async function openEvents(
  { eventStoreUrl, eventStorePrefix: prefix, dataDir }: StoreConfig,
  logger: Pick<BaseLogger, 'warn'>,
  { startWithinMs, ...options }: EventOptions = {},
): Promise<OperatedEventStore> {
  if (eventStoreUrl === undefined) {
    const { openSqliteEventStore } = await import('./event-store/sqlite/event-store.ts');
    return openSqliteEventStore({ path: join(dataDir, LOG_FILE), logger, ...options });
  }
  const { openEventStoreDb } = await import('./event-store/eventstoredb/event-store.ts');
  const names = { kinds: STREAM_KINDS, laterKinds: LATER_STREAM_KINDS, ...defined({ prefix, startWithinMs }) };
  return openEventStoreDb({ url: eventStoreUrl, ...names, logger }).catch(inOneLine('EVENTSTORE_URL'));
}

/** Reads every page of the files of the store, for damage that opening them does not meet. @throws {UnusableStore} if there is any */
export async function checkFiles({ eventStoreUrl, mongoUrl, dataDir }: StoreConfig): Promise<void> {
  const { checkFile } = await import('./sqlite/check-file.ts');
  if (eventStoreUrl === undefined) {
    const { logFile } = await import('./event-store/sqlite/log-file.ts');
    checkFile(logFile(join(dataDir, LOG_FILE)));
  }
  if (mongoUrl === undefined) {
    const { filesIn } = await import('./document-store/sqlite/files.ts');
    for (const file of filesIn(dataDir)) checkFile(file);
  }
}

/** How long a command waits for a server: as long as an election of MongoDB takes, so that a backup survives one. Services wait longer. */
export const COMMAND_STARTS_WITHIN_MS = 13_000;

type StartOptions = {
  /** How long opening waits for a server that does not answer, in milliseconds. Default 30 s. */
  readonly startWithinMs?: number;
};

type EventOptions = Pick<SqliteEventStoreOptions, 'elsewhere'> & StartOptions;

type SqliteDocumentOptions = {
  /** The clock for removing expired documents. */
  readonly clock?: Clock;
  /** The thread that writes records instead of this one. */
  readonly elsewhere?: DocumentsElsewhere;
};

export async function openSqliteDocuments(
  folder: string,
  options: SqliteDocumentOptions = {},
): Promise<OperatedDocumentStore> {
  const { openSqliteDocumentStore } = await import('./document-store/sqlite/document-store.ts');
  return openSqliteDocumentStore({ folder, ...options });
}

export async function openDocuments(
  { mongoUrl, dataDir }: StoreConfig,
  logger?: Pick<BaseLogger, 'warn'>,
  { startWithinMs, ...options }: SqliteDocumentOptions & StartOptions = {},
): Promise<OperatedDocumentStore> {
  if (mongoUrl === undefined) return openSqliteDocuments(dataDir, options);
  const { openMongoDocumentStore } = await import('./document-store/mongodb/document-store.ts');
  return openMongoDocumentStore({ url: mongoUrl, ...defined({ logger, startWithinMs }) }).catch(
    inOneLine('MONGODB_URL'),
  );
}

/** Turns a connection failure or an invalid URL into one line with the setting and the reason. */
const inOneLine =
  (setting: string) =>
  (error: unknown): never => {
    if (error instanceof TypeError) throw new UnusableStore(`${setting}: ${error.message}`, error);
    if (!(error instanceof Unavailable)) throw error;
    const reason = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    throw new UnusableStore(`${setting}: ${error.message}${reason}`, error);
  };

export type Stores = {
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  /** The thread that makes the durable commits of the embedded stores, if there is one. */
  readonly writer?: Writer;
};

type StoresOptions = StartOptions & {
  /** The clock for removing expired documents. */
  readonly clock?: Clock;
  /** Starts the writer if a store is embedded. */
  readonly withWriter?: boolean;
};

/**
 * Opens log and documents.
 * @throws {UnusableStore} if a file is damaged
 */
export async function openStores(
  config: StoreConfig,
  logger: Pick<BaseLogger, 'error' | 'info' | 'warn'>,
  { withWriter = false, clock, startWithinMs }: StoresOptions = {},
): Promise<Stores> {
  mkdirSync(config.dataDir, { recursive: true, mode: FOLDER_OWNER_ONLY });
  const writer = withWriter && isEmbedded(config) ? await createWriterOf(config, logger) : undefined;
  const elsewhere = defined({ elsewhere: writer });
  const events = await openEvents(config, logger, { ...elsewhere, ...defined({ startWithinMs }) });
  try {
    const documents = await openDocuments(config, logger, { ...defined({ clock, startWithinMs }), ...elsewhere });
    // By now the files exist and are intact.
    writer?.start();
    return { events, documents, ...defined({ writer }) };
  } catch (error) {
    // An open connection would keep the process of a command alive.
    await events.close();
    throw error;
  }
}

async function createWriterOf(config: StoreConfig, logger: Pick<BaseLogger, 'error' | 'info'>): Promise<Writer> {
  const { createWriter } = await import('./threads/writer.ts');
  const { log, documents } = enginesOf(config);
  const data = {
    log: log === 'embedded' ? join(config.dataDir, LOG_FILE) : undefined,
    documents: documents === 'embedded' ? config.dataDir : undefined,
  };
  return createWriter(data, logger);
}

export async function closeStores({ events, documents, writer }: Stores): Promise<void> {
  // It commits its pending writes first.
  await writer?.stop();
  await Promise.allSettled([events.close(), documents.close()]);
}

/** How far an EventStoreDB node may lag behind the leader. */
const REPLICATED_WITHIN_MS = 5_000;

/** Checks that the opened engines belong together. */
export const openIdentity = (
  config: Pick<Config, 'secretKey'> & StoreConfig,
  stores: Stores,
  logger: Pick<BaseLogger, 'warn'>,
  clock: Clock,
): Promise<StoreIdentity> =>
  openStoreIdentity({
    ...stores,
    secretKey: config.secretKey,
    clock,
    logger,
    locations: locationsOf(config),
    markedTo: () => highestMark(stores.documents),
    // Not for EventStoreDB, where checkpoints may be at system events after the last event of the service.
    ...(config.eventStoreUrl === undefined
      ? {
          settleMs: 0,
          shownPositions: async () =>
            [...(await stores.documents.checkpoints()).values()].map(({ position }) => position),
        }
      : { settleMs: REPLICATED_WITHIN_MS }),
  });

/**
 * Deletes all read models, including damaged ones and those of another store, and what is stored with them: leases, heartbeats and the
 * health of receivers. The service rebuilds the read models from the log.
 * @throws {StoreInUse} if a process has the store open
 */
export const discardReadModels = (config: StoreConfig): Promise<void> =>
  withExclusiveAccess(config, async () => {
    if (config.mongoUrl === undefined) {
      for (const file of [READ_MODELS_FOLDER, ...withSideFiles(READ_MODELS_FILE)])
        rmSync(join(config.dataDir, file), { force: true, recursive: true });
      return;
    }
    const documents = await openDocuments(config);
    try {
      for (const { name, kind } of await documents.collections()) if (kind === 'readModel') await documents.drop(name);
    } finally {
      await documents.close();
    }
  });

/**
 * Prepares a restore: moves the embedded files into a sibling folder and drops the MongoDB collections.
 * @returns the folder, if there is any
 * @throws {StoreInUse} if a process has the store open
 */
export async function setStoreAside(config: StoreConfig): Promise<string | undefined> {
  const { dataDir, mongoUrl } = config;
  let folder: string | undefined;
  await withExclusiveAccess(config, async () => {
    const files = embeddedFiles(config).flatMap(withSideFiles);
    if (mongoUrl === undefined) files.push(READ_MODELS_FOLDER);
    for (const file of files.filter((each) => existsSync(join(dataDir, each)))) {
      folder ??= mkdtempSync(join(dataDir, 'before-restore-'));
      renameSync(join(dataDir, file), join(folder, file));
    }
    if (mongoUrl === undefined) return;
    const documents = await openDocuments(config);
    try {
      for (const name of await documents.names()) await documents.drop(name);
    } finally {
      await documents.close();
    }
  });
  return folder;
}

/** @throws {StoreInUse} if a process has the store open */
export const checkStopped = (config: StoreConfig): Promise<void> => withExclusiveAccess(config, async () => {});

const embeddedFiles = ({ eventStoreUrl, mongoUrl }: StoreConfig): string[] => [
  ...(eventStoreUrl === undefined ? [LOG_FILE] : []),
  ...(mongoUrl === undefined ? [RECORDS_FILE, READ_MODELS_FILE] : []),
];

const withSideFiles = (file: string): string[] => [file, `${file}-wal`, `${file}-shm`];

/** Runs `work` with exclusive access: locks the embedded files and checks that no other process sends heartbeats. */
async function withExclusiveAccess(config: StoreConfig, work: () => Promise<void>): Promise<void> {
  const { dataDir, mongoUrl } = config;
  const { lockExclusively } = await import('./sqlite/exclusive-lock.ts');
  const release = lockExclusively(embeddedFiles(config).map((file) => join(dataDir, file)));
  if (release === undefined) throw new StoreInUse(dataDir);
  try {
    if (mongoUrl !== undefined && (await isMongoInUse(config))) throw new StoreInUse('MONGODB_URL');
    await work();
  } finally {
    release();
  }
}

async function isMongoInUse(config: StoreConfig): Promise<boolean> {
  const documents = await openDocuments(config);
  try {
    return await hasLiveProcess(documents);
  } finally {
    await documents.close();
  }
}
