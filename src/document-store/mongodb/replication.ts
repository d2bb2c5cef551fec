import type { MongoClient } from 'mongodb';

/** Tracks whether the server is a replica set or a sharded cluster. Call it before the client connects. */
export function watchReplication(client: MongoClient): () => boolean {
  let isReplicated = false;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    const known = [...newDescription.servers.values()].filter(({ type }) => type !== 'Unknown');
    // Keep the last knowledge while no server is known.
    if (known.length > 0) isReplicated = known.some(({ type }) => type.startsWith('RS') || type === 'Mongos');
  });
  return () => isReplicated;
}
