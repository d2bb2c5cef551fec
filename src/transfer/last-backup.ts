import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { Timestamp } from '../domain/ids.ts';

/** The last complete backup: when it began, because it holds everything from before then. */
type LastBackup = { readonly at: Timestamp };

/** Beside the read models: a restored store has no backup yet, and an alert that comes too early does no harm. */
const lastBackups: Collection<LastBackup> = { name: 'lastBackup', kind: 'readModel', indexes: [] };
const KEY = 'last';

/** Notes a complete backup, unless a later one is known. */
export async function noteBackup(documents: Pick<DocumentStore, 'open'>, at: Timestamp): Promise<void> {
  const stored = await documents.open(lastBackups);
  await stored.update(KEY, (last) => (last !== undefined && last.at >= at ? undefined : { at }));
}

/** When the last complete backup began; undefined if none is known. */
export async function lastBackup(documents: Pick<DocumentStore, 'open'>): Promise<Timestamp | undefined> {
  return (await (await documents.open(lastBackups)).get(KEY))?.document.at;
}
