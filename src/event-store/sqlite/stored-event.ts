import type { SQLOutputValue } from 'node:sqlite';
import { LOG_START, type Position, type StoredEvent } from '../event-store.ts';

export type Row = Record<string, SQLOutputValue>;

/** @param row of the table `events` */
export function storedEvent(row: Row): StoredEvent {
  return {
    id: String(row.id),
    type: String(row.type),
    stream: String(row.stream),
    revision: Number(row.revision),
    position: positionOf(Number(row.position)),
    data: JSON.parse(String(row.data)),
    metadata: JSON.parse(String(row.metadata)),
  };
}

/** What {@link eventOf} takes of the table `events`, in its order. */
export const EVENT_COLUMNS = 'position, stream, revision, id, type, data, metadata';

/** The same of a row as an array: in long lists, an object for each row takes a quarter of the time of reading and parsing it. */
export function eventOf(row: readonly SQLOutputValue[]): StoredEvent {
  const [position, stream, revision, id, type, data, metadata] = row;
  return {
    id: String(id),
    type: String(type),
    stream: String(stream),
    revision: Number(revision),
    position: positionOf(Number(position)),
    data: JSON.parse(String(data)),
    metadata: JSON.parse(String(metadata)),
  };
}

/** 16 digits hold every safe integer and sort as text. */
export function positionOf(position: number): Position {
  return position === 0 ? LOG_START : String(position).padStart(16, '0');
}

/** @throws {TypeError} for a position of another engine */
export function numberOf(position: Position): number {
  if (position !== LOG_START && !/^\d{16}$/.test(position)) {
    throw new TypeError(`Position ${JSON.stringify(position)} does not belong to this event log`);
  }
  return Number(position);
}
