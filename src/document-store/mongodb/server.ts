import type { MongoClient } from 'mongodb';

/** What kind of server a client is connected to. */
export type Server = {
  /** Whether it is a replica set, or has several behind it. */
  readonly isReplicated: () => boolean;
  /** Whether it recognises a write that the driver repeats because its answer was lost. */
  readonly repeatsWrites: () => boolean;
};

/** Keeps what the driver finds out about the servers. To be called before the client connects. */
export function watchServer(client: MongoClient): Server {
  let isReplicated = false;
  let hasSessions = false;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    const known = [...newDescription.servers.values()].filter(({ type }) => type !== 'Unknown');
    // While none is known, it is still what it was.
    if (known.length === 0) return;
    isReplicated = known.some(({ type }) => type.startsWith('RS') || type === 'Mongos');
    hasSessions = known.some(({ logicalSessionTimeoutMinutes }) => logicalSessionTimeoutMinutes !== null);
  });
  return {
    isReplicated: () => isReplicated,
    repeatsWrites: () => client.options.retryWrites && isReplicated && hasSessions,
  };
}
