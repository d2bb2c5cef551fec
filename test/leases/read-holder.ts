import type { DocumentStore } from '../../src/document-store/document-store.ts';

/** The process that holds a lease, or held it when it ended, by its heartbeat id; undefined if the lease is free. */
export async function readHolder(
  documents: Pick<DocumentStore, 'open'>,
  collection: string,
  name: string,
): Promise<string | undefined> {
  const leases = await documents.open<{ readonly session?: string }>({
    name: collection,
    kind: 'readModel',
    indexes: [],
  });
  return (await leases.get(name))?.document.session;
}
