import {
  type IndexDescription,
  MongoAPIError,
  MongoClient,
  MongoError,
  MongoParseError,
  MongoServerError,
} from 'mongodb';
import pRetry from 'p-retry';
import type { BaseLogger } from 'pino';
import { Unavailable } from '../../runtime/unavailable.ts';
import { UnusableStore } from '../../runtime/unusable-store.ts';
import {
  type Collection,
  checkCollection,
  type Documents,
  isGeneration,
  type OperatedDocumentStore,
} from '../document-store.ts';
import { CHECKPOINTS, type CheckpointEntry, createCheckpoints } from './checkpoints.ts';
import { clientOptions, optionsIn, WITHOUT_TIMEOUT } from './client-options.ts';
import { mongoDocuments } from './documents.ts';
import { noticeEndedSockets } from './ended-sockets.ts';
import type { Entry } from './entry.ts';
import { explained, isServerUnavailable, isTransient, type Retry, unavailable } from './failures.ts';
import { createGenerationCache, type GenerationCache } from './generation-cache.ts';
import { writeProjected } from './projected-writes.ts';
import { indexesOf } from './query.ts';
import { createRegistry, REGISTRY, type RegistryEntry } from './registry.ts';
import { watchReplication } from './replication.ts';

/** For a URL that names no database. */
const DEFAULT_DATABASE = 'venue-booking';
const PAUSES = { minTimeout: 50, maxTimeout: 2_000, randomize: true } as const;
const RETRIES = 5;
/** No retry after an attempt that took longer, because the caller has a deadline (docs/decisions/rest-api.md). */
const RETRIED_WITHIN_MS = 5_000;

/** Minimum interval between two warnings during an outage, when every operation fails several times. */
const WARN_EVERY_MS = 10_000;

/**
 * The document store on MongoDB (a replica set in production; a standalone server is enough for development).
 *
 * Every write is acknowledged by a majority, including those to read models: after a failover that rolled a document back, the
 * projector would never fold its events again.
 * @throws {TypeError} if the URL is invalid or contradicts a required option
 * @throws {UnusableStore} if the server does not know the user, or the user lacks a right
 * @throws {Unavailable} if no server can be reached within the URL's `serverSelectionTimeoutMS` (default `startWithinMs`). Operations throw
 *   it once MongoDB has not answered in time; whether a write was applied is then unknown
 */
export async function openMongoDocumentStore({
  url,
  logger,
  startWithinMs = 30_000,
}: {
  readonly url: string;
  readonly logger?: Pick<BaseLogger, 'warn'>;
  /** Default 30 s. */
  readonly startWithinMs?: number;
}): Promise<OperatedDocumentStore> {
  noticeEndedSockets();
  const client = clientOf(url);
  const isReplicated = watchReplication(client);
  const startBy = performance.now() + Number(optionsIn(url).get('serverselectiontimeoutms') ?? startWithinMs);
  await pRetry(() => client.connect(), {
    ...PAUSES,
    retries: Number.POSITIVE_INFINITY,
    shouldRetry: ({ error }) => isServerUnavailable(error) && performance.now() < startBy,
    onFailedAttempt: ({ error, attemptNumber }) => {
      if (isServerUnavailable(error))
        logger?.warn({ err: error, attemptNumber }, 'Connecting to MongoDB failed; retrying');
    },
  }).catch(async (error: unknown) => {
    await client.close();
    // The DNS records of a `mongodb+srv` URL count as part of it.
    const isUnusable = error instanceof MongoAPIError || error instanceof MongoParseError;
    if (isFileError(error) || isUnusable) throw new TypeError(error.message, { cause: error });
    if (!isServerUnavailable(error)) throw explained(error);
    const { hosts, srvHost } = client.options;
    throw new Unavailable(`MongoDB at ${srvHost ?? hosts.join(', ')} cannot be reached`, error);
  });
  const db = client.db(databaseIn(url) ?? DEFAULT_DATABASE);
  const opened = new Map<string, unknown>();
  /** Of the generations that this process projects. */
  const caches = new Map<string, GenerationCache>();
  let closed = false;
  let warnedAt = Number.NEGATIVE_INFINITY;

  const retryWithin = async <R>(maxRetryTime: number, operation: () => Promise<R>): Promise<R> => {
    if (closed) throw new Error('The document store is closed');
    return pRetry(operation, {
      ...PAUSES,
      retries: RETRIES,
      maxRetryTime,
      shouldRetry: ({ error }) => !closed && isTransient(error),
      onFailedAttempt: ({ error, attemptNumber }) => {
        if (!isTransient(error) || performance.now() - warnedAt < WARN_EVERY_MS) return;
        warnedAt = performance.now();
        logger?.warn({ err: error, attemptNumber }, 'MongoDB operations fail; retrying');
      },
    }).catch(unavailable);
  };
  const retry: Retry = (operation) => retryWithin(RETRIED_WITHIN_MS, operation);

  /** Creates missing indexes, without a timeout. */
  async function makeIndexes(name: string, indexes: IndexDescription[]): Promise<void> {
    if (indexes.length === 0) return;
    // By default every member must be ready, so one that is down would block a start.
    const quorum = isReplicated() ? { commitQuorum: 'majority' } : {};
    // The server continues an index build that it has begun, so repeating the command is safe.
    await retryWithin(Number.POSITIVE_INFINITY, () =>
      db.collection(name).createIndexes(indexes, { ...WITHOUT_TIMEOUT, ...quorum }),
    );
  }

  const registry = createRegistry(db.collection<RegistryEntry>(REGISTRY), retry);

  const checkpoints = createCheckpoints(db.collection<CheckpointEntry>(CHECKPOINTS), retry);

  async function collectionNames(): Promise<string[]> {
    const collections = await retry(() => db.listCollections({}, { nameOnly: true }).toArray());
    const names = collections.map(({ name }) => name);
    return names.filter((name) => !name.startsWith('system.') && name !== REGISTRY && name !== CHECKPOINTS).sort();
  }

  /** The names with one for each generation. */
  async function names(): Promise<string[]> {
    return [...new Set((await collectionNames()).map((name) => generationIn(name) ?? name))];
  }

  async function makeParts<D extends object>(declared: Collection<D>): Promise<void> {
    const name = fullName(declared);
    // Created explicitly, so that `names` lists it even while it is empty.
    await retry(() =>
      db.createCollection(name).catch((error: unknown) => {
        if (!(error instanceof MongoError && error.code === NAMESPACE_EXISTS)) throw error;
      }),
    );
    await makeIndexes(name, indexesOf(declared));
  }

  /**
   * Creates missing parts of a collection. Never cached, because another process may have dropped it. Repeated if another process does
   * the same at the same moment: some servers then report a deadlock, or a duplicate.
   */
  async function make<D extends object>(declared: Collection<D>): Promise<void> {
    const until = Math.max(startBy, performance.now() + RETRIED_WITHIN_MS);
    await pRetry(() => Promise.all([makeParts(declared), declared.generation ?? registry.add(declared)]), {
      ...PAUSES,
      retries: Number.POSITIVE_INFINITY,
      shouldRetry: ({ error }) => !closed && !(error instanceof UnusableStore) && performance.now() < until,
      onFailedAttempt: ({ error, attemptNumber }) =>
        logger?.warn(
          { err: error, attemptNumber, collection: fullName(declared) },
          'Opening a collection failed; retrying',
        ),
    });
  }

  async function open<D extends object>(declared: Collection<D>): Promise<Documents<D>> {
    checkCollection(declared);
    await make(declared);
    const name = fullName(declared);
    // A collection's name determines the type of its documents.
    const documents =
      (opened.get(name) as Documents<D> | undefined) ??
      mongoDocuments<D>(db.collection<Entry>(name), declared, { retry, cache: () => cacheOf<D>(declared) });
    opened.set(name, documents);
    return documents;
  }

  const cacheOf = <D extends object>({ generation = '', name }: Pick<Collection<D>, 'generation' | 'name'>) =>
    caches.get(generation)?.of<D>(name);

  async function dropCollection(name: string): Promise<void> {
    opened.delete(name);
    await retry(() =>
      db.dropCollection(name, WITHOUT_TIMEOUT).catch(async (error: unknown) => {
        // Servers before 7.0 refuse to drop a missing collection.
        if (!(error instanceof MongoServerError) || (await collectionNames()).includes(name)) throw error;
      }),
    );
  }

  return {
    open,
    openWithoutIndexes: (declared) => open({ ...declared, indexes: [] }),
    makeIndexes: (declared) => makeIndexes(fullName(declared), indexesOf(declared)),
    checkpoints: checkpoints.read,

    async project(generation, writes, checkpoint, onWritten) {
      await Promise.all(
        Array.from(writes, ([name, some]) => {
          const collection = db.collection<Entry>(fullName({ generation, name }));
          const write = () => retry(() => writeProjected(collection, undefined, some));
          const keys = some.map(({ key }) => key);
          return cacheOf({ generation, name })?.during(keys, write) ?? write();
        }),
      );
      onWritten?.();
      return checkpoints.advance(generation, checkpoint);
    },

    cacheGeneration(generation, isOnlyWriter) {
      const cache = createGenerationCache(isOnlyWriter);
      caches.set(generation, cache);
      return () => {
        if (caches.get(generation) === cache) caches.delete(generation);
      };
    },

    async drop(name) {
      if (!isGeneration(name)) {
        await dropCollection(name);
        await registry.remove(name);
        return;
      }
      caches.delete(name);
      for (const each of await collectionNames()) if (generationIn(each) === name) await dropCollection(each);
      await checkpoints.remove(name);
    },

    names,

    async collections() {
      const [all, declared] = [await names(), await registry.read()];
      return all.map((name) => {
        const { kind = isGeneration(name) ? 'readModel' : 'record', ttl } = declared.get(name) ?? {};
        return { name, kind, ...(ttl !== undefined && { ttl }) };
      });
    },

    // MongoDB's own monitoring watches the disks of its servers.
    room: async () => undefined,

    async now() {
      const { localTime } = await retry(() => db.admin().command({ hello: 1 })).catch((error: unknown) => {
        if (!(error instanceof MongoServerError && error.code === COMMAND_NOT_FOUND)) throw error;
        // For servers before 4.4.2.
        return retry(() => db.admin().command({ isMaster: 1 }));
      });
      return localTime instanceof Date ? localTime.getTime() : undefined;
    },

    async purge() {
      return true;
    },

    async ping() {
      if (closed) throw new Error('The document store is closed');
      await db.command({ ping: 1 });
    },

    async close() {
      closed = true;
      await client.close();
    },
  };
}

/** Converts the driver's errors for an invalid URL. None of them quotes a password. */
function clientOf(url: string): MongoClient {
  try {
    return new MongoClient(url, clientOptions(url));
  } catch (error) {
    throw error instanceof Error && !(error instanceof TypeError)
      ? new TypeError(error.message, { cause: error })
      : error;
  }
}

/** Whether a file named in the URL, such as `tlsCAFile`, cannot be read. */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && error.syscall === 'open';

/** The database in the URL. `URL` cannot parse several hosts. */
const databaseIn = (url: string): string | undefined => /^[^/]+\/\/[^/]+\/([^?]+)/.exec(url)?.[1];

/** The name of a collection in the database. */
const fullName = ({ generation, name }: Pick<Collection<object>, 'generation' | 'name'>): string =>
  generation === undefined ? name : `${generation}.${name}`;

/** The generation of a collection, if it has one. */
function generationIn(name: string): string | undefined {
  const generation = name.slice(0, name.lastIndexOf('.'));
  return isGeneration(generation) ? generation : undefined;
}

const NAMESPACE_EXISTS = 48;
const COMMAND_NOT_FOUND = 59;
