import type { Collection } from '../document-store/document-store.ts';
import type { Position, StoredEvent } from '../event-store/event-store.ts';

/** An event that a store has seen. Stream and revision find it on every engine. */
export type SeenEvent = Pick<StoredEvent, 'position' | 'stream' | 'revision'> & { readonly eventId: string };

/**
 * Why no process may start on a store: a restore or an import of this copy is incomplete, or the store was fenced after an export.
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
  /**
   * Positions of the consumer groups from before these records were written. The records show everything up to there as handled.
   */
  readonly groups?: { readonly [group: string]: Position };
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
