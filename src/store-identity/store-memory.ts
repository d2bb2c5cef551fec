import type { Collection } from '../document-store/document-store.ts';
import type { Position, StoredEvent } from '../event-store/event-store.ts';

/** An event that a store has seen. Stream and revision find it on every engine. */
export type SeenEvent = Pick<StoredEvent, 'position' | 'stream' | 'revision'> & { readonly eventId: string };

/**
 * Why no process may start on a store: a restore or an import of this copy has not been completed, or the store was exported to go on
 * in another place and is fenced.
 */
export type Standstill = { readonly kind: 'restore' | 'import'; readonly copy: string } | { readonly kind: 'fence' };

/** What the document store remembers of the log that it belongs to. */
export type StoreMemory = {
  readonly logId: string;
  /** The last event that was seen; absent for a log that nothing but its id has been appended to. */
  readonly seen?: SeenEvent;
};

export type RecordsMemory = StoreMemory & {
  /** See {@link STORE_FORMAT}. */
  readonly format: number;
  /** A value sealed with the secret key of the store, by which another key is recognised. */
  readonly probe: string;
  /** Where the consumer groups stood before these records were written: what they had handled, the records show. */
  readonly groups?: { readonly [group: string]: Position };
  /** Why no process may start on the store; absent as a rule. */
  readonly standstill?: Standstill;
  /** Which export the store was imported from, by its SHA-256. */
  readonly imported?: string;
};

/** Kept twice, because read models can be replaced or lost without the records. */
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
