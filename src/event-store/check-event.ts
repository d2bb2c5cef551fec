import { randomUUIDv7 } from 'node:crypto';
import type { JsonObject, NewEvent } from './event-store.ts';

/** An event that every engine can store unchanged. */
export type CheckedEvent = {
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: JsonObject;
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Validates events before they reach an engine, so that what is read back equals what was appended.
 * @throws {TypeError} for an empty list, an invalid id or type, and for data that does not survive JSON unchanged (BigInt,
 *   undefined, NaN, a Date, …); the message gives the path to the value
 */
export function checkEvents(events: readonly NewEvent[]): readonly CheckedEvent[] {
  if (events.length === 0) throw new TypeError('An append needs at least one event');
  return events.map((event) => {
    if (typeof event.type !== 'string' || event.type === '' || event.type.startsWith('$')) {
      throw new TypeError(
        `Event type ${JSON.stringify(event.type)}: must be non-empty text that does not start with "$"`,
      );
    }
    if (event.id !== undefined && !UUID.test(event.id)) {
      throw new TypeError(`Event id ${JSON.stringify(event.id)} of ${event.type}: must be a UUID`);
    }
    checkObject(event.data, `${event.type}.data`);
    checkObject(event.metadata, `${event.type}.metadata`);
    const { type, data, metadata } = event;
    // UUIDv7 increases with time, so indexes by event id (such as deliveries) are written to neighbouring pages.
    return { id: event.id?.toLowerCase() ?? randomUUIDv7(), type, data, metadata };
  });
}

/** @throws {TypeError} if the name is empty or that of a system stream (`$…`) */
export function checkStreamName(stream: string): void {
  if (typeof stream !== 'string' || stream === '' || stream.startsWith('$')) {
    throw new TypeError(`Stream name ${JSON.stringify(stream)}: must be non-empty text that does not start with "$"`);
  }
}

function checkObject(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`${path}: must be a plain JSON object, got ${describe(value)}`);
  }
  const fault = faultIn(value);
  if (fault !== undefined)
    throw new TypeError(`${path}${fault.path}: must be plain JSON, got ${describe(fault.value)}`);
}

/** A value that does not survive JSON unchanged, and its path, which is only built for a fault. */
type Fault = { readonly path: string; readonly value: unknown };

function faultIn(value: unknown): Fault | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { path: '', value };
  if (Array.isArray(value)) {
    // Not forEach, which skips the holes of a sparse array; JSON turns them into null.
    for (let index = 0; index < value.length; index += 1) {
      const fault = faultIn(value[index]);
      if (fault !== undefined) return { ...fault, path: `[${index}]${fault.path}` };
    }
    return undefined;
  }
  if (!isPlain(value)) return { path: '', value };
  // Avoids an array of entries, because every command runs this.
  for (const key in value) {
    const fault = faultIn(value[key]);
    if (fault !== undefined) return { ...fault, path: `.${key}${fault.path}` };
  }
  return undefined;
}

/** A plain object, without inherited fields. */
function isPlain(value: unknown): value is { readonly [field: string]: unknown } {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return value.constructor?.name ?? 'an object';
  return typeof value === 'number' ? String(value) : typeof value;
}
