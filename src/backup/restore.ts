import type { DocumentStore, OperatedDocumentStore } from '../document-store/document-store.ts';
import { LOG_START, type Position, type StoredEvent } from '../event-store/event-store.ts';
import { type LostDelivery, lostDeliveries } from '../webhooks/inspect/lost-deliveries.ts';
import { countOf } from './back-up.ts';
import { eventsOf, recordsOf } from './contents.ts';
import { type FillLog, fillLog } from './fill-log.ts';
import { beginFilling, openFilling } from './fill-records.ts';
import type { GroupPositions, Manifest, RecordsFile } from './manifest.ts';
import { createMovedPositions } from './moved-positions.ts';

type RestoreDeps = Pick<FillLog<StoredEvent>, 'events' | 'onProgress'> & {
  readonly documents: OperatedDocumentStore;
  readonly folder: string;
  readonly manifest: Manifest;
  /** The names of the parts of the store in messages. */
  readonly locations: { readonly log: string; readonly records: string };
  /** Called once the store is marked as being restored: from then on the restore is not refused. */
  readonly begun?: () => void;
};

/**
 * Restores the log and the records into an empty store, or continues an interrupted restore. No process starts on the store until
 * `finish` has been called.
 * @returns the positions of the consumer groups in the restored log
 * @throws {UnusableCopy} if the store holds anything else
 */
export async function restore(deps: RestoreDeps): Promise<GroupPositions> {
  const { events, documents, folder, manifest, locations, onProgress } = deps;
  const { logId, probe, startedAt } = manifest;
  // The start time, because a store may have several backups.
  const standstill = { kind: 'restore', copy: `${logId} ${startedAt}` } as const;
  const refusal = `There are records in ${locations.records} already. To replace them, add --overwrite`;
  await beginFilling(documents, { logId, probe, standstill }, refusal);
  deps.begun?.();
  const wanted = [...Object.values(manifest.groups), ...(await positionsInRecords(folder, manifest))];
  const positions = createMovedPositions<Position>(wanted, LOG_START);
  await fillLog({
    ...{ events, source: eventsOf(folder, manifest.log), total: countOf(manifest.log), log: locations.log, onProgress },
    stored: (event, position) => positions.stored(event.position, position),
  });
  positions.end();
  const moved = (position: Position): Position => positions.of(position) ?? position;
  for (const file of manifest.records) await restoreRecords(documents, folder, file, moved);
  return Object.fromEntries(Object.entries(manifest.groups).map(([group, position]) => [group, moved(position)]));
}

/** Deliveries in the store about to be replaced whose events the backup lacks. Receivers may have got them. */
export const lostSince = (
  documents: Pick<DocumentStore, 'open'>,
  folder: string,
  { log }: Manifest,
): Promise<LostDelivery[]> => lostDeliveries(documents, eventsOf(folder, log));

async function restoreRecords(
  documents: OperatedDocumentStore,
  folder: string,
  file: RecordsFile,
  moved: (position: Position) => Position,
): Promise<void> {
  const filling = await openFilling(documents, { name: file.collection, ttl: file.ttl });
  for await (const { key, document } of recordsOf(folder, file)) await filling.add(key, withPositions(document, moved));
  await filling.end();
}

/** A position of EventStoreDB, which assigns new positions to restored events. The embedded log keeps them. */
const POSITION = /^\d{20}-\d{20}$/;

async function positionsInRecords(folder: string, { engines, records }: Manifest): Promise<ReadonlySet<Position>> {
  const found = new Set<Position>();
  if (engines.log === 'embedded') return found;
  for (const file of records) {
    for await (const record of recordsOf(folder, file)) {
      JSON.stringify(record, (_, value: unknown) => {
        if (typeof value === 'string' && POSITION.test(value)) found.add(value);
        return value;
      });
    }
  }
  return found;
}

const withPositions = (document: object, moved: (position: Position) => Position): object =>
  JSON.parse(JSON.stringify(document), (_, value: unknown) =>
    typeof value === 'string' && POSITION.test(value) ? moved(value) : value,
  );
