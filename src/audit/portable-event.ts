import { createHash } from 'node:crypto';
import type { EventStore, JsonObject, StoredEvent, StreamEvent } from '../event-store/event-store.ts';

/**
 * An event as stored on every engine, neither converted nor opened, with its stream without a prefix. Its position belongs to the engine and
 * is left out (docs/decisions/seals.md).
 */
export type PortableEvent = StreamEvent;

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
 * The canonical JSON (RFC 8785) of an event or of another JSON object, on one line. Only equal objects have the same text.
 *
 * Two kinds of values that the RFC refuses are written too: half of a surrogate pair as its escape `\ud800` to `\udfff` in lower case, and
 * a number that is too large for a double, and so was read as infinite, as `1e999` or `-1e999`. Parsing the text gives the object back.
 */
export function canonicalForm(object: JsonObject): string {
  let written = '';
  // Not recursive, because deep nesting could overflow the stack.
  const pending: Piece[] = [{ before: '', value: object }];
  for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
    const { before, value } = piece;
    written += before;
    if (value === undefined) continue;
    if (typeof value !== 'object' || value === null) {
      written += scalar(value);
      continue;
    }
    written += isList(value) ? '[' : '{';
    pending.push({ before: isList(value) ? ']' : '}' });
    const pieces = piecesOf(value);
    // One by one, because a call has a maximum number of arguments.
    for (let at = pieces.length - 1; at >= 0; at -= 1) pending.push(pieces[at] ?? { before: '' });
  }
  return written;
}

type Json = JsonObject[string];
/** Text, and the value after it; without a value, the end of a list or an object. */
type Piece = { readonly before: string; readonly value?: Json | undefined };

/** Members are ordered by the UTF-16 code units of their names, the default of `sort`. */
const piecesOf = (value: JsonObject | readonly Json[]): Piece[] =>
  isList(value)
    ? value.map((each, at) => ({ before: at === 0 ? '' : ',', value: each }))
    : Object.keys(value)
        .sort()
        .map((name, at) => ({ before: `${at === 0 ? '' : ','}${JSON.stringify(name)}:`, value: value[name] }));

const isList = (value: JsonObject | readonly Json[]): value is readonly Json[] => Array.isArray(value);

/** JSON.stringify writes half of a surrogate pair as an escape, and an infinite number as `null`. */
function scalar(value: string | number | boolean | null): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return value < 0 ? '-1e999' : '1e999';
  return JSON.stringify(value);
}

/** The hash of an event as a leaf of the Merkle tree (RFC 6962, section 2.1): SHA-256 of a zero byte and its canonical form. */
export const leafHash = (event: PortableEvent): Buffer => hashOfForm(canonicalForm(event));

/** {@link leafHash}, given the canonical form. */
export const hashOfForm = (form: string): Buffer => createHash('sha256').update(LEAF).update(form, 'utf8').digest();

const LEAF = Buffer.of(0);
