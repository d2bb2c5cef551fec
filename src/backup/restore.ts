import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import type { Position } from '../event-store/event-store.ts';
import { purposes } from '../secrets/purposes.ts';
import { unseal } from '../secrets/seal.ts';
import { MEMORY_KEY, RECORDS_MEMORY } from '../store-identity/store-memory.ts';
import { type LostDelivery, lostDeliveries } from '../webhooks/lost-deliveries.ts';
import { readLines } from './files.ts';
import type { GroupPositions, Manifest, RecordsFile } from './manifest.ts';
import { createMovedPositions, type MovedPositions } from './moved-positions.ts';
import { eventsOf, type RestoreLog, restoreLog } from './restore-log.ts';
import { UnusableBackup } from './unusable-backup.ts';

/** Documents stored at once; on the embedded engine they share a commit. */
const BATCH = 500;

type RestoreDeps = Pick<RestoreLog, 'events' | 'folder' | 'onProgress'> & {
  readonly documents: DocumentStore;
  readonly manifest: Manifest;
  /** How messages name the parts of the store. */
  readonly places: { readonly log: string; readonly records: string };
};

/**
 * Restores the log and the records into an empty store, or goes on with a restore that was interrupted. Until `settle` has been
 * called, no process starts on the store.
 * @returns where the consumer groups stood, as positions of the restored log
 * @throws {UnusableBackup} if the store holds anything else
 */
export async function restore(deps: RestoreDeps): Promise<GroupPositions> {
  const { events, documents, folder, manifest, places, onProgress } = deps;
  await begin(documents, manifest, places.records);
  const wanted = [...Object.values(manifest.groups), ...(await positionsInRecords(folder, manifest))];
  const moved = createMovedPositions(wanted);
  await restoreLog({ events, folder, files: manifest.log, place: places.log, stored: moved.stored, onProgress });
  moved.end();
  for (const file of manifest.records) await restoreRecords(documents, folder, file, moved);
  return Object.fromEntries(Object.entries(manifest.groups).map(([group, position]) => [group, moved.of(position)]));
}

/** Whether the secrets of a backup are sealed with a key. */
export function isKeyOf({ logId, probe }: Manifest, secretKey: Buffer): boolean {
  try {
    unseal(secretKey, purposes.storeProbe(logId), probe);
    return true;
  } catch {
    return false;
  }
}

/** What receivers may know of from the store that a backup is about to replace, and the backup does not hold. */
export const lostSince = (
  documents: Pick<DocumentStore, 'open'>,
  folder: string,
  { log }: Manifest,
): Promise<LostDelivery[]> => lostDeliveries(documents, eventsOf(folder, log));

/** Marks the store as being restored. */
async function begin(documents: DocumentStore, { logId, probe, startedAt }: Manifest, place: string): Promise<void> {
  const memory = await documents.open(RECORDS_MEMORY);
  const known = await memory.get(MEMORY_KEY);
  // The same store may have been backed up more than once.
  const restoring = `${logId} ${startedAt}`;
  if (known?.document.restoring === restoring) return;
  const taken = known !== undefined || (await hasRecords(documents));
  if (taken) throw new UnusableBackup(`There are records in ${place} already. To replace them, add --overwrite`);
  await memory.insert(MEMORY_KEY, { logId, probe, restoring });
}

async function hasRecords(documents: DocumentStore): Promise<boolean> {
  for (const { name, kind } of await documents.collections()) {
    if (kind !== 'record') continue;
    const collection = await documents.open({ name, kind, indexes: [] });
    for await (const _ of collection.find(everyDocument())) return true;
  }
  return false;
}

async function restoreRecords(
  documents: DocumentStore,
  folder: string,
  { collection: name, ttl, ...file }: RecordsFile,
  moved: MovedPositions,
): Promise<void> {
  const declared = ttl === undefined ? {} : { ttl };
  const collection: Documents<object> = await documents.open<Record<string, unknown>>({
    ...{ name, kind: 'record', indexes: [], ...declared },
  });
  let batch: Promise<boolean>[] = [];
  for await (const line of readLines(folder, file)) {
    const { key, document } = line as { readonly key: string; readonly document: object };
    // One that is there already was restored before an interruption.
    batch.push(collection.insert(key, withPositions(document, moved)));
    if (batch.length < BATCH) continue;
    await Promise.all(batch);
    batch = [];
  }
  await Promise.all(batch);
  const stored = await collection.count(everyDocument());
  // Those that have expired may be gone already.
  if (stored !== file.lines && ttl === undefined)
    throw new UnusableBackup(`${stored} of the ${file.lines} documents of ${name} could be restored`);
}

/** A position of EventStoreDB, which gives the events of a restored log other ones. The embedded log keeps them. */
const POSITION = /^\d{20}-\d{20}$/;

async function positionsInRecords(folder: string, { engines, records }: Manifest): Promise<ReadonlySet<Position>> {
  const found = new Set<Position>();
  if (engines.log === 'embedded') return found;
  for (const file of records) {
    for await (const line of readLines(folder, file)) {
      JSON.stringify(line, (_, value: unknown) => {
        if (typeof value === 'string' && POSITION.test(value)) found.add(value);
        return value;
      });
    }
  }
  return found;
}

const withPositions = (document: object, moved: MovedPositions): object =>
  JSON.parse(JSON.stringify(document), (_, value: unknown) =>
    typeof value === 'string' && POSITION.test(value) ? moved.of(value) : value,
  );
