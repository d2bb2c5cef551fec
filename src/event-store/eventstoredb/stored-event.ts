import type { RecordedEvent } from '@eventstore/db-client';
import { type JsonObject, LOG_START, type Position, type StoredEvent } from '../event-store.ts';

type ServerPosition = { readonly commit: bigint; readonly prepare: bigint };

/** What the server sends for an unknown position: an unsigned 64-bit integer with all bits set. */
const UNKNOWN_POSITION = 2n ** 64n - 1n;

/** False for an event that the server read through its parked stream: it then omits the position. */
export function hasPosition(recorded: RecordedEvent | undefined): boolean {
  return recorded?.position !== undefined && recorded.position.commit !== UNKNOWN_POSITION;
}

/**
 * Undefined for anything that is not an event of this service: system events (`$…`), and data that is not a JSON object.
 * @throws if the server did not send the position
 */
export function storedEvent(recorded: RecordedEvent | undefined): StoredEvent | undefined {
  if (recorded === undefined || recorded.type.startsWith('$') || !isJsonObject(recorded.data)) return undefined;
  if (recorded.position === undefined || recorded.position.commit === UNKNOWN_POSITION) {
    throw new Error(`EventStoreDB sent no position for event ${recorded.id}; version 22.6 or later is required`);
  }
  return {
    id: recorded.id,
    type: recorded.type,
    stream: recorded.streamId,
    revision: Number(recorded.revision),
    position: positionOf(recorded.position),
    data: recorded.data,
    metadata: isJsonObject(recorded.metadata) ? recorded.metadata : {},
  };
}

/** Commit, then prepare: the events of one append may share the commit position. 20 digits hold 64 bits and sort as text. */
export function positionOf({ commit, prepare }: ServerPosition): Position {
  return `${String(commit).padStart(20, '0')}-${String(prepare).padStart(20, '0')}`;
}

/** @throws {TypeError} for a position of another engine */
export function serverPosition(position: Position): ServerPosition | 'start' {
  if (position === LOG_START) return 'start';
  const [, commit, prepare] = /^(\d{20})-(\d{20})$/.exec(position) ?? [];
  if (commit === undefined || prepare === undefined) {
    throw new TypeError(`Position ${JSON.stringify(position)} does not belong to this event log`);
  }
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** A regular expression for the server that matches exactly these types. */
export function exactly(types: readonly string[]): string {
  return `^(${types.map((type) => type.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;
}
