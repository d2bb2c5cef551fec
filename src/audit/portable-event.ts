import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { unicodeProblem } from '../domain/unicode.ts';
import type { EventStore, JsonObject, StoredEvent } from '../event-store/event-store.ts';

/**
 * An event as stored on every engine, neither upcast nor opened, with its stream without a prefix. Its position belongs to the engine and
 * is left out (docs/decisions/seals.md).
 */
export type PortableEvent = Omit<StoredEvent, 'position'>;

export const portableEvent = ({ id, stream, revision, type, data, metadata }: StoredEvent): PortableEvent => ({
  id,
  stream,
  revision,
  type,
  data,
  metadata,
});

/** All events of a log. */
export async function* portableEvents(events: Pick<EventStore, 'readAll'>): AsyncGenerator<PortableEvent> {
  for await (const event of events.readAll()) yield portableEvent(event);
}

/**
 * The one text of an event, or of another JSON object: its canonical JSON (RFC 8785), on one line. Two have the same text only if they are the same.
 *
 * Of an object that RFC 8785 refuses, the form goes on where the RFC stops: half of a surrogate pair is written as the escape
 * `\ud800` to `\udfff` in lower case, and a number that is too large for a double, which reads as infinite, as `1e999` or
 * `-1e999`. The RFC writes neither. Reading the text gives the event back.
 */
export const canonicalForm = (object: JsonObject): string =>
  // The library refuses values outside the RFC, and omits nothing, because an event comes from JSON.
  (isCoveredByRfc8785(object) ? canonicalize(object) : undefined) ?? extendedForm(object);

/** The hash of an event as a leaf of the Merkle tree (RFC 6962, section 2.1): SHA-256 of a zero byte and its canonical form. */
export const leafHash = (event: PortableEvent): Buffer => hashOfForm(canonicalForm(event));

/** The same of an event's canonical form. */
export const hashOfForm = (form: string): Buffer => createHash('sha256').update(LEAF).update(form, 'utf8').digest();

const LEAF = Buffer.of(0);

const isCoveredByRfc8785 = (object: JsonObject): boolean =>
  unicodeProblem(object, '') === undefined && !hasInfiniteNumber(object);

function hasInfiniteNumber(value: object): boolean {
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (next === Number.POSITIVE_INFINITY || next === Number.NEGATIVE_INFINITY) return true;
    if (typeof next === 'object' && next !== null) for (const inner of Object.values(next)) pending.push(inner);
  }
  return false;
}

type Json = JsonObject[string];
type Piece = { readonly text: string } | { readonly value: Json };

/** Equal to RFC 8785 wherever that defines a form. Not recursive, because deep nesting could overflow the stack. */
function extendedForm(object: JsonObject): string {
  const written: string[] = [];
  const pending: Piece[] = [{ value: object }];
  for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
    if ('text' in piece) {
      written.push(piece.text);
      continue;
    }
    const { value } = piece;
    // One by one, because a call has a maximum number of arguments.
    if (typeof value === 'object' && value !== null) for (const next of piecesOf(value).reverse()) pending.push(next);
    else written.push(scalar(value));
  }
  return written.join('');
}

function piecesOf(value: JsonObject | readonly Json[]): Piece[] {
  if (isList(value))
    return [{ text: '[' }, ...value.flatMap((each, at) => [comma(at), { value: each }]), { text: ']' }];
  // By UTF-16 code units, the default of `sort`.
  const members = Object.keys(value)
    .sort()
    .flatMap((name, at) => [comma(at), { text: `${JSON.stringify(name)}:` }, { value: value[name] ?? null }]);
  return [{ text: '{' }, ...members, { text: '}' }];
}

const isList = (value: JsonObject | readonly Json[]): value is readonly Json[] => Array.isArray(value);

const comma = (at: number): Piece => ({ text: at === 0 ? '' : ',' });

function scalar(value: Exclude<Json, object>): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return value < 0 ? '-1e999' : '1e999';
  return JSON.stringify(value);
}
