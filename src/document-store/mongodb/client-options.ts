import type { CommandOperationOptions, MongoClientOptions } from 'mongodb';

/** How long the other members of a replica set may take to acknowledge a write. */
const ACKNOWLEDGED_WITHIN_MS = 5_000;

/**
 * URL options that could break a promise of the port, with their only allowed values. Reads must go to the primary and return
 * majority-committed data, which no failover reverts.
 */
const NEEDED: Readonly<Record<string, string>> = {
  w: 'majority',
  journal: 'true',
  j: 'true',
  readPreference: 'primary',
  readConcernLevel: 'majority',
};

/** Timeouts that detect a hanging server within the request deadline (docs/decisions/rest-api.md). The URL may override them. */
const TIMEOUTS = {
  /** Until there is a primary. */
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 3_000,
  /** Until a connection of the pool is free. */
  waitQueueTimeoutMS: 8_000,
  /** Until a server responds. Longer than its own wait for a majority. */
  socketTimeoutMS: 7_000,
  /** Between two checks of a server. A failed check closes its connections and fails their operations. */
  heartbeatFrequencyMS: 5_000,
  /**
   * Between two checks while an operation waits for a server. The driver's default would add half a second to every lost
   * connection.
   */
  minHeartbeatFrequencyMS: 100,
} as const;

/** For operations whose time grows with the data, such as an index build. Only a failed server check ends them. */
export const WITHOUT_TIMEOUT: CommandOperationOptions & { readonly socketTimeoutMS: number } = { socketTimeoutMS: 0 };

/**
 * The options of every connection to MongoDB.
 * @throws {TypeError} if the URL contradicts a required option
 */
export function clientOptions(url: string): MongoClientOptions {
  const options = optionsIn(url);
  for (const [name, value] of Object.entries(NEEDED)) {
    const given = options.get(name.toLowerCase());
    if (given !== undefined && given !== value)
      throw new TypeError(`${name}=${given} is not supported: it must be ${value}, which is also the default`);
  }
  // `wtimeout` is the driver's former name, which it still accepts.
  for (const name of ['wtimeoutMS', 'wtimeout']) {
    const given = options.get(name.toLowerCase());
    if (given !== undefined && !/^[1-9]\d*$/.test(given))
      throw new TypeError(`${name}=${given} is not supported: it must be a number of milliseconds above 0`);
  }
  return {
    appName: 'venue-booking',
    ignoreUndefined: true,
    retryReads: true,
    // Not every server that claims retryable writes recognises a repeated one. The store finds out whether a lost write was made
    // (record-writes.ts); `retryWrites` in the URL has no effect.
    retryWrites: false,
    readPreference: 'primary',
    readConcern: { level: 'majority' },
    writeConcern: {
      w: 'majority',
      journal: true,
      wtimeoutMS: Number(options.get('wtimeoutms') ?? options.get('wtimeout') ?? ACKNOWLEDGED_WITHIN_MS),
    },
    ...Object.fromEntries(Object.entries(TIMEOUTS).filter(([name]) => !options.has(name.toLowerCase()))),
  };
}

/** The options in a URL, by name in lower case: MongoDB ignores case. `URL` cannot parse several hosts. */
export function optionsIn(url: string): ReadonlyMap<string, string> {
  const entries = new URLSearchParams(url.split('?')[1] ?? '');
  return new Map([...entries].map(([name, value]) => [name.toLowerCase(), value]));
}
