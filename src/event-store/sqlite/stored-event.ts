import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { type ExpectedRevision, LOG_START, type Position, type StoredEvent } from '../event-store.ts';

/** The columns that {@link eventsOf} expects, in order. */
export const EVENT_COLUMNS = 'position, stream, revision, id, type, data, metadata';

/** Converts rows given as arrays: in long lists, an object per row would take a quarter of the time of reading and parsing it. */
export const eventsOf = (rows: readonly unknown[]): StoredEvent[] =>
  rows.filter((row): row is SQLOutputValue[] => Array.isArray(row)).map((row) => eventOf(...row));

function eventOf(
  ...[position, stream, revision, id, type, data, metadata]: (SQLOutputValue | undefined)[]
): StoredEvent {
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

/** Prepares the statement for the events with low < position ≤ high of so many types, or of all; at most `limit`. */
export function prepareRange(database: DatabaseSync, types: number) {
  const filter = types === 0 ? '' : `AND type IN (${Array(types).fill('?').join(', ')})`;
  const statement = database.prepare(
    `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? AND position <= ? ${filter} ORDER BY position LIMIT ?`,
  );
  statement.setReturnArrays(true);
  return (low: number, high: number, wanted: readonly string[], limit: number): StoredEvent[] =>
    eventsOf(statement.all(low, high, ...wanted, limit));
}

/** Prepares the statement for the revision of a stream. */
export function prepareRevision(database: DatabaseSync): (stream: string) => ExpectedRevision {
  const statement = database.prepare('SELECT max(revision) AS revision FROM events WHERE stream = ?');
  return (stream) => {
    const last = statement.get(stream)?.revision ?? null;
    return last === null ? 'none' : Number(last);
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
