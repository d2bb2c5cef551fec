import type { MongoClient } from 'mongodb';

/** What kind of server a client is connected to. */
export type Server = {
  /** Whether it is a replica set or a sharded cluster. */
  readonly isReplicated: () => boolean;
  /** Whether it supports retryable writes. */
  readonly repeatsWrites: () => boolean;
};

/** Tracks the driver's knowledge of the servers. Call it before the client connects. */
export function watchServer(client: MongoClient): Server {
  let isReplicated = false;
  let hasSessions = false;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    const known = [...newDescription.servers.values()].filter(({ type }) => type !== 'Unknown');
    // Keep the last knowledge while no server is known.
    if (known.length === 0) return;
    isReplicated = known.some(({ type }) => type.startsWith('RS') || type === 'Mongos');
    hasSessions = known.some(({ logicalSessionTimeoutMinutes }) => logicalSessionTimeoutMinutes !== null);
  });
  return {
    isReplicated: () => isReplicated,
    repeatsWrites: () => client.options.retryWrites && isReplicated && hasSessions,
  };
}
