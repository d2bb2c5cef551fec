import type { RecordedEvent } from '@eventstore/db-client';
import { type JsonObject, LOG_START, type Position, type StoredEvent } from './event-store.ts';

type ServerPosition = { readonly commit: bigint; readonly prepare: bigint };

/** Undefined for what is no event of this service: the server's own (`$…`), and what is no JSON object. */
export function storedEvent(recorded: RecordedEvent | undefined): StoredEvent | undefined {
  if (recorded?.position === undefined || recorded.type.startsWith('$') || !isJsonObject(recorded.data))
    return undefined;
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

/** Commit, then prepare: the events of one append may share the first. Twenty digits hold 64 bits, and sort as text. */
export function positionOf({ commit, prepare }: ServerPosition): Position {
  return `${String(commit).padStart(20, '0')}-${String(prepare).padStart(20, '0')}`;
}

/** @throws {TypeError} for a position of another engine */
export function serverPosition(position: Position): ServerPosition | 'start' {
  if (position === LOG_START) return 'start';
  const [, commit, prepare] = /^(\d{20})-(\d{20})$/.exec(position) ?? [];
  if (commit === undefined || prepare === undefined) {
    throw new TypeError(`Position ${JSON.stringify(position)} is not one of this event log`);
  }
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
