import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { purposes } from '../secrets/purposes.ts';
import { opens, seal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { STORE_FORMAT } from './store-format.ts';

/** An event that a store has seen. Stream and revision find it on every engine. */
export type SeenEvent = Pick<StoredEvent, 'position' | 'stream' | 'revision'> & { readonly eventId: string };

/**
 * Why no process may start on a store: a restore or an import of this copy is incomplete, or the store was fenced for an export.
 */
export type Standstill = { readonly kind: 'restore' | 'import'; readonly copy: string } | { readonly kind: 'fence' };

/** The document store's memory of its log. */
export type StoreMemory = {
  readonly logId: string;
  /** The last seen event; absent for a log with only its id. */
  readonly seen?: SeenEvent;
};

export type RecordsMemory = StoreMemory & {
  /** See {@link STORE_FORMAT}. */
  readonly format: number;
  /** A value sealed with the store's secret key, to detect a wrong key. */
  readonly probe: string;
  /** Why no process may start on the store; normally absent. */
  readonly standstill?: Standstill;
  /** The SHA-256 of the export that the store was imported from. */
  readonly imported?: string;
};

/** Stored twice, because read models can be replaced or lost without the records. */
export const RECORDS_MEMORY: Collection<RecordsMemory> = { name: 'storeIdentity', kind: 'record', indexes: [] };
export const READ_MODELS_MEMORY: Collection<StoreMemory> = {
  name: 'readModelsIdentity',
  kind: 'readModel',
  indexes: [],
};

/** Key of the only document in each of them. */
export const MEMORY_KEY = 'store';

export const seenOf = ({ id, position, stream, revision }: StoredEvent): SeenEvent => ({
  eventId: id,
  position,
  stream,
  revision,
});

/** The records' memory of a log from which no event has been seen yet. */
export const newMemory = (logId: string, secretKey: SecretKey): RecordsMemory => ({
  format: STORE_FORMAT,
  logId,
  probe: newProbe(logId, secretKey),
});

/** A value sealed with the secret key of the store of a log. */
const newProbe = (logId: string, secretKey: SecretKey): string => seal(secretKey, purposes.storeProbe(logId), logId);

/** Whether a key opens the secrets of a store, a backup or an export. */
export const isKeyOf = ({ logId, probe }: Pick<RecordsMemory, 'logId' | 'probe'>, secretKey: SecretKey): boolean =>
  opens(secretKey, purposes.storeProbe(logId), probe);

/** The records' memory of their log; undefined if there is none. */
export async function memoryOfRecords(documents: Pick<DocumentStore, 'open'>): Promise<RecordsMemory | undefined> {
  return (await (await documents.open(RECORDS_MEMORY)).get(MEMORY_KEY))?.document;
}
