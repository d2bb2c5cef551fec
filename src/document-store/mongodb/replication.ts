import type { MongoClient } from 'mongodb';

/** Tracks whether the server is a replica set or a sharded cluster. Call it before the client connects. */
export function watchReplication(client: MongoClient): () => boolean {
  let isReplicated = false;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    const servers = [...newDescription.servers.values()].filter(({ type }) => type !== 'Unknown');
    // Keep the last knowledge while no server is known.
    if (servers.length > 0) isReplicated = servers.some(({ type }) => type.startsWith('RS') || type === 'Mongos');
  });
  return () => isReplicated;
}
