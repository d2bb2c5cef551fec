import type { MongoClient } from 'mongodb';

/** Tracks the driver's knowledge of the servers. Call it before the client connects. */
export function watchServer(client: MongoClient) {
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
    /** Whether it is a replica set or a sharded cluster. */
    isReplicated: (): boolean => isReplicated,
    /** Whether it supports retryable writes. */
    repeatsWrites: (): boolean => client.options.retryWrites && isReplicated && hasSessions,
  };
}
