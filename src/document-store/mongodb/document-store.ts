import { MongoClient, MongoError, MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import pRetry from 'p-retry';
import type { BaseLogger } from 'pino';
import type { Collection, DocumentStore, Documents } from '../document-store.ts';
import { type Entry, mongoDocuments, type Repeat } from './documents.ts';
import { indexesOf } from './query.ts';

/** The database that a URL without one stands for. */
const DATABASE = 'venue-booking';
const RETRIES = { retries: 5, minTimeout: 50, maxTimeout: 2_000, randomize: true } as const;

/**
 * The document store on MongoDB (a replica set in production; a lone server will do for development).
 *
 * Every write waits for a majority, read models too: a document that a failover took back under a projector that goes on
 * would be missing events for good.
 * @throws when the server cannot be reached within `serverSelectionTimeoutMS` of the URL (default 30 s)
 */
export async function openMongoDocumentStore({
  url,
  database,
  logger,
}: {
  readonly url: string;
  /** Default: the one in the URL, or `venue-booking`. */
  readonly database?: string;
  readonly logger?: Pick<BaseLogger, 'warn'>;
}): Promise<DocumentStore> {
  const client = new MongoClient(url, {
    appName: 'venue-booking',
    ignoreUndefined: true,
    retryReads: true,
    retryWrites: true,
    writeConcern: { w: 'majority' },
  });
  await client.connect();
  const db = client.db(database ?? databaseIn(url) ?? DATABASE);
  const opened = new Map<string, unknown>();
  let closed = false;

  const repeat: Repeat = async (operation) => {
    if (closed) throw new Error('The document store is closed');
    return pRetry(operation, {
      ...RETRIES,
      shouldRetry: ({ error }) => !closed && isTransient(error),
      onFailedAttempt: ({ error, attemptNumber }) => {
        if (isTransient(error)) logger?.warn({ err: error, attemptNumber }, 'MongoDB did not answer; trying again');
      },
    });
  };

  async function openFresh<D extends object>(declared: Collection<D>): Promise<Documents<D>> {
    const collection = db.collection<Entry>(declared.name);
    const indexes = indexesOf(declared);
    await repeat(async () => {
      // Naming it makes it, so that an empty collection is seen in `names`, too.
      await db.createCollection(declared.name).catch((error: unknown) => {
        if (!(error instanceof MongoError && error.code === NAMESPACE_EXISTS)) throw error;
      });
      if (indexes.length > 0) await collection.createIndexes(indexes);
    });
    return mongoDocuments<D>(collection, declared, repeat);
  }

  return {
    open<D extends object>(declared: Collection<D>) {
      // The name stands for the type: whoever opens a collection twice means the same documents.
      const documents = (opened.get(declared.name) as Promise<Documents<D>> | undefined) ?? openFresh(declared);
      opened.set(declared.name, documents);
      documents.catch(() => opened.delete(declared.name));
      return documents;
    },

    async drop(name) {
      opened.delete(name);
      await repeat(() =>
        db.dropCollection(name).catch((error: unknown) => {
          if (!(error instanceof MongoError && error.message.includes(NO_COLLECTION))) throw error;
        }),
      );
    },

    async names() {
      const found = await repeat(() => db.listCollections({}, { nameOnly: true }).toArray());
      return found
        .map(({ name }) => name)
        .filter((name) => !name.startsWith('system.'))
        .sort();
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

/** The database that the URL names. With several hosts it is no URL to `URL`. */
const databaseIn = (url: string): string | undefined => /^[^/]+\/\/[^/]+\/([^?]+)/.exec(url)?.[1];

const NAMESPACE_EXISTS = 48;
/** What servers before 7.0 say to a drop in vain. */
const NO_COLLECTION = 'ns not found';

function isTransient(error: unknown): boolean {
  if (error instanceof MongoServerError) {
    // A bulk write hides in its own error what befell the connection.
    const cause: unknown = error.errorResponse;
    if (cause instanceof MongoError) return isTransient(cause);
  }
  if (error instanceof MongoServerSelectionError) return false;
  return (
    error instanceof MongoNetworkError ||
    (error instanceof MongoError &&
      (error.hasErrorLabel('RetryableWriteError') || error.hasErrorLabel('RetryableReadError')))
  );
}
