import type { PortableEvent } from '../audit/portable-event.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { JsonObject } from '../event-store/event-store.ts';
import type { STORE_FORMAT } from '../store-identity/store-format.ts';

export const FORMAT = 'venue-export-2';

/** The first line of an export: its scope, without the time and the engines (docs/decisions/backups.md). */
export type Header = {
  readonly format: typeof FORMAT;
  /** See {@link STORE_FORMAT}. */
  readonly storeFormat: typeof STORE_FORMAT;
  readonly logId: string;
  /** Only the events of one stream. */
  readonly stream?: string;
  /** Only events that happened then or later. */
  readonly from?: Timestamp;
  /** Only events that happened before. */
  readonly to?: Timestamp;
  /** A value sealed with the secret key of the store, to detect another key. Present if there are records. */
  readonly probe?: string;
  /** What it was made for: to move a store, which was fenced, or to keep one, which may go on. Present if there are records. */
  readonly purpose?: Purpose;
};

export type Purpose = 'move' | 'keep';

/** A record with its sealed values. Positions are replaced by the id of the event there, or of the last one before. */
export type RecordLine = { readonly collection: string; readonly key: string; readonly document: JsonObject };

export type Counts = { readonly events: number; readonly records: number };

/** The last line. */
export type Trailer = Counts & {
  /** The digest of everything before this line, in hex. */
  readonly sha256: string;
};

/** A line, in the order in which they come: the header, events in log order, records, the trailer. */
export type Line =
  | { readonly export: Header }
  | PortableEvent
  | { readonly record: RecordLine }
  | { readonly trailer: Trailer };

export const isEvent = (line: Line): line is PortableEvent => 'id' in line;
