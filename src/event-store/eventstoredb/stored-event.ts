import type { RecordedEvent } from '@eventstore/db-client';
import { type JsonObject, LOG_START, type Position, type StoredEvent } from '../event-store.ts';
import type { Names } from './names.ts';

type ServerPosition = { readonly commit: bigint; readonly prepare: bigint };

/** The server's value for an unknown position: an unsigned 64-bit integer with all bits set. */
const UNKNOWN_POSITION = 2n ** 64n - 1n;

/** False for a replayed parked message, for which the server omits the position. */
export function hasPosition(recorded: RecordedEvent | undefined): boolean {
  return recorded?.position !== undefined && recorded.position.commit !== UNKNOWN_POSITION;
}

/**
 * Undefined for system events (`$…`), events of other applications, and data that is not a JSON object.
 * @throws if the server did not send the position
 */
export function storedEvent(recorded: RecordedEvent | undefined, names: Names): StoredEvent | undefined {
  if (recorded === undefined || !isJsonObject(recorded.data)) return undefined;
  const [type, stream] = [names.type(recorded.type), names.stream(recorded.streamId)];
  if (type === undefined || stream === undefined) return undefined;
  if (recorded.position === undefined || recorded.position.commit === UNKNOWN_POSITION) {
    throw new Error(
      `EventStoreDB sent no position for event ${recorded.id}; it is too old (docs/operations/servers.md)`,
    );
  }
  return {
    id: recorded.id,
    type,
    stream,
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
