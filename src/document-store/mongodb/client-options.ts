import type { CommandOperationOptions, MongoClientOptions } from 'mongodb';

/** How long the other members of a replica set may take to acknowledge a write. */
const ACKNOWLEDGED_WITHIN_MS = 5_000;

/**
 * Options of a URL that would break a promise of the port, and the only values that they may have: what is read has been acknowledged
 * by a majority, so that no failover takes it back, and comes from the member that all processes write to.
 */
const NEEDED: Readonly<Record<string, string>> = {
  w: 'majority',
  journal: 'true',
  j: 'true',
  readPreference: 'primary',
  readConcernLevel: 'majority',
};

/**
 * How long each part of an operation may take, so that a server that stands still is noticed within the time in which a request is
 * answered (docs/decisions/rest-api.md). A URL may say otherwise.
 */
const TIMEOUTS = {
  /** Until there is a primary. */
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 3_000,
  /** Until a connection of the pool is free. */
  waitQueueTimeoutMS: 8_000,
  /** Without a word from the server over a connection on which it was asked something. More than it waits for a majority. */
  socketTimeoutMS: 7_000,
  /** Between two looks at whether the server is there; one that is not gets its connections closed, whatever waits on them. */
  heartbeatFrequencyMS: 5_000,
  /** Between two looks while somebody waits for a server. The driver's own half second would be added to every lost connection. */
  minHeartbeatFrequencyMS: 100,
} as const;

/** For what takes as long as there is data, such as making an index: only a server that is found gone ends it. */
export const WITHOUT_TIMEOUT: CommandOperationOptions & { readonly socketTimeoutMS: number } = { socketTimeoutMS: 0 };

/**
 * The options of every connection to MongoDB, which the promises of the port need whatever the URL says.
 * @throws {TypeError} if the URL contradicts one of them: whoever wrote it expects something else
 */
export function clientOptions(url: string): MongoClientOptions {
  const given = optionsIn(url);
  for (const [name, value] of Object.entries(NEEDED)) {
    const said = given.get(name.toLowerCase());
    if (said !== undefined && said !== value)
      throw new TypeError(`${name}=${said} is not supported: it has to be ${value}, which is also the default`);
  }
  // `wtimeout` is what the driver called it before, and still takes.
  for (const name of ['wtimeoutMS', 'wtimeout']) {
    const said = given.get(name.toLowerCase());
    if (said !== undefined && !/^[1-9]\d*$/.test(said))
      throw new TypeError(`${name}=${said} is not supported: it has to be a number of milliseconds above 0`);
  }
  const retryWrites = given.get('retrywrites') ?? 'true';
  if (retryWrites !== 'true' && retryWrites !== 'false')
    throw new TypeError(`retryWrites=${retryWrites} is not supported: it has to be true or false`);
  return {
    appName: 'venue-booking',
    ignoreUndefined: true,
    retryReads: true,
    // Some servers that speak the protocol cannot repeat writes. What became of one is then found out by reading.
    retryWrites: retryWrites === 'true',
    readPreference: 'primary',
    readConcern: { level: 'majority' },
    writeConcern: {
      w: 'majority',
      journal: true,
      wtimeoutMS: Number(given.get('wtimeoutms') ?? given.get('wtimeout') ?? ACKNOWLEDGED_WITHIN_MS),
    },
    ...Object.fromEntries(Object.entries(TIMEOUTS).filter(([name]) => !given.has(name.toLowerCase()))),
  };
}

/** The options in a URL, by name in lower case: MongoDB does not tell them apart. `URL` cannot parse one with several hosts. */
export function optionsIn(url: string): ReadonlyMap<string, string> {
  const entries = new URLSearchParams(url.split('?')[1] ?? '');
  return new Map([...entries].map(([name, value]) => [name.toLowerCase(), value]));
}
