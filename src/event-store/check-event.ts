import { randomUUIDv7 } from 'node:crypto';
import type { JsonObject, NewEvent } from './event-store.ts';

/** An event that every engine can store. */
export type CheckedEvent = {
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: JsonObject;
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Checks events before any engine sees them, so that what is read back is what was handed in.
 * @throws {TypeError} for an empty list, a bad id or type, and for data that JSON cannot carry unchanged (BigInt,
 *   undefined, NaN, a Date, …), naming the place
 */
export function checkEvents(events: readonly NewEvent[]): readonly CheckedEvent[] {
  if (events.length === 0) throw new TypeError('An append needs at least one event');
  return events.map((event) => {
    if (typeof event.type !== 'string' || event.type === '' || event.type.startsWith('$')) {
      throw new TypeError(`Event type ${JSON.stringify(event.type)}: must be text, not empty, not starting with "$"`);
    }
    if (event.id !== undefined && !UUID.test(event.id)) {
      throw new TypeError(`Event id ${JSON.stringify(event.id)} of ${event.type}: must be a UUID`);
    }
    checkObject(event.data, `${event.type}.data`);
    checkObject(event.metadata, `${event.type}.metadata`);
    const { type, data, metadata } = event;
    // Ids that grow with time keep indexes on them compact: neighbours in time are neighbours on the page.
    return { id: event.id?.toLowerCase() ?? randomUUIDv7(), type, data, metadata };
  });
}

/** @throws {TypeError} when the name is empty, or a system stream's (`$…`) */
export function checkStreamName(stream: string): void {
  if (typeof stream !== 'string' || stream === '' || stream.startsWith('$')) {
    throw new TypeError(`Stream ${JSON.stringify(stream)}: must be text, not empty, not starting with "$"`);
  }
}

function checkObject(value: unknown, at: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`${at}: must be an object of plain JSON, is ${describe(value)}`);
  }
  checkJson(value, at);
}

function checkJson(value: unknown, at: string): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return;
  } else if (Array.isArray(value)) {
    // Not forEach: it would step over the holes of a sparse array, which JSON turns into null.
    for (let index = 0; index < value.length; index += 1) checkJson(value[index], `${at}[${index}]`);
    return;
  } else if (typeof value === 'object') {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      for (const [key, inner] of Object.entries(value)) checkJson(inner, `${at}.${key}`);
      return;
    }
  }
  throw new TypeError(`${at}: must be plain JSON, is ${describe(value)}`);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return value.constructor?.name ?? 'an object';
  return typeof value === 'number' ? String(value) : typeof value;
}
