import type { Collection, DocumentStore } from '../document-store/document-store.ts';

/** The process that holds a lease, or held it when it ended, by its heartbeat id; undefined if the lease is free. */
export async function readHolder(
  documents: Pick<DocumentStore, 'open'>,
  collection: string,
  name: string,
): Promise<string | undefined> {
  const leases: Collection<{ readonly session?: string; readonly expiresAt: string }> = {
    name: collection,
    kind: 'readModel',
    ttl: 'expiresAt',
    indexes: [],
  };
  return (await (await documents.open(leases)).get(name))?.document.session;
}
