import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { canonicalForm, type PortableEvent } from '../audit/portable-event.ts';
import { isObject } from '../domain/is-object.ts';
import { LOG_START } from '../event-store/event-store.ts';
import { STORE_FORMAT } from '../store-identity/store-format.ts';
import { type TextLine, textLines } from '../text/text-lines.ts';
import { CopyCheck } from './copy-check.ts';
import { FORMAT, type Header, isEvent, type Line, type Trailer } from './format.ts';
import { moves, positionsIn } from './record-kinds.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** A complete export with a correct digest. */
export type WholeExport = {
  readonly header: Header;
  readonly trailer: Trailer;
  /** Of the events alone, as hex. */
  readonly eventsSha256: string;
  /** The events that records refer to, by their ids. */
  readonly referredTo: ReadonlySet<string>;
  /** See {@link CopyCheck}. */
  readonly foreignStream: string | undefined;
};

const isText = (value: unknown): value is string => typeof value === 'string';
/** A whole number, not negative. */
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const CHUNK = 256 * 1024;
/** In characters. An export has no longer lines: an event is a mebibyte at most. */
const LONGEST = 64 * 1024 * 1024;

/** The field that identifies each kind of line, in file order. */
const ORDER = ['export', 'id', 'record', 'trailer'] as const;

/**
 * Reads an export to its end. Checks of one with records that any store can hold all of it.
 * @throws {UnusableCopy} if it is cut off, has been changed, is no export, or cannot be stored
 */
export async function readWholeExport(file: string): Promise<WholeExport> {
  const check = new CopyCheck();
  try {
    return await readAndCheck(file, check);
  } finally {
    check.close();
  }
}

async function readAndCheck(file: string, check: CopyCheck): Promise<WholeExport> {
  const hash = createHash('sha256');
  const ofEvents = createHash('sha256');
  const counts = { events: 0, records: 0 };
  const referredTo = new Set<string>();
  let passed = 0;
  let header: Header | undefined;
  let trailer: Trailer | undefined;
  for await (const { line, text, number } of linesOf(file)) {
    if (trailer !== undefined) throw new UnusableCopy(`${file} goes on after its last line, in line ${number}`);
    if (header === undefined) header = headerIn(file, line);
    else if ('export' in line) throw new UnusableCopy(`${file} has a second beginning in line ${number}`);
    const kind = ORDER.findIndex((field) => field in line);
    if (kind < passed) throw damaged(file, number, 'events and records are out of order');
    passed = kind;
    if ('trailer' in line) {
      trailer = line.trailer;
      continue;
    }
    hash.update(text).update('\n');
    const problem = header.probe === undefined ? undefined : problemOf(line, check);
    if (problem !== undefined) throw damaged(file, number, `it holds ${problem}`);
    if (isEvent(line)) {
      counts.events += 1;
      ofEvents.update(text).update('\n');
    } else if ('record' in line) {
      counts.records += 1;
      for (const id of positionsIn(line.record.collection, line.record.document)) referredTo.add(id);
    }
  }
  if (header === undefined) throw new UnusableCopy(`${file} is empty`);
  const command = header.purpose === 'keep' ? 'venue backup' : 'venue export';
  if (trailer === undefined)
    throw new UnusableCopy(
      `${file} is cut off: its last line, with the count and the digest, is missing. Run ${command} again, or copy the file again`,
    );
  const { events, records, sha256 } = trailer;
  if (events !== counts.events || records !== counts.records)
    throw new UnusableCopy(
      `${file} is damaged: it holds ${counts.events} events and ${counts.records} records instead of ${events} and ${records}`,
    );
  if (hash.digest('hex') !== sha256)
    throw new UnusableCopy(`${file} was changed: its SHA-256 is not that of its last line`);
  const { foreignStream } = check;
  return { header, trailer, eventsSha256: ofEvents.digest('hex'), referredTo, foreignStream };
}

/** Why a line cannot be imported. */
function problemOf(line: Line, check: CopyCheck): string | undefined {
  if (isEvent(line)) return check.event(line);
  if (!('record' in line)) return undefined;
  const { collection, key, document } = line.record;
  // What stays describes the store that was exported, and would be wrong for another.
  if (!moves(collection)) return 'a record that belongs to one store';
  const ids = positionsIn(collection, document).filter((id) => id !== LOG_START);
  return check.record(collection, key) ?? missing(ids, check);
}

const missing = (ids: readonly string[], check: CopyCheck): string | undefined =>
  ids.every((id) => check.hasEvent(id)) ? undefined : 'a reference to an event that the file does not contain';

/** The events of an export that was verified before. */
export async function* eventsIn(file: string): AsyncGenerator<PortableEvent> {
  for await (const { line } of linesOf(file)) {
    if (isEvent(line)) yield line;
    else if (!('export' in line)) return;
  }
}

/** The lines of a file. @throws {UnusableCopy} for one that is no line of an export, or cannot be read */
export async function* linesOf(
  file: string,
): AsyncGenerator<{ readonly line: Line; readonly text: string; readonly number: number }> {
  let number = 0;
  for await (const { text, isWhole } of readText(file)) {
    number += 1;
    // A cut-off last line. The missing trailer reports it.
    if (!isWhole && number > 1 && !isTrailer(text)) return;
    yield { line: parsed(file, text, number), text, number };
  }
}

/** The text of a file, line by line. */
export async function* readText(file: string): AsyncGenerator<TextLine> {
  try {
    yield* textLines(createReadStream(file, { highWaterMark: CHUNK }), LONGEST);
  } catch (error) {
    if (error instanceof TypeError) throw new UnusableCopy(`${file} is damaged: it is not text in UTF-8`, error);
    if (error instanceof Error && ('code' in error || error instanceof RangeError))
      throw new UnusableCopy(`${file} cannot be read: ${error.message}`, error);
    throw error;
  }
}

function parsed(file: string, text: string, number: number): Line {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(file, number, 'it is not JSON', error);
  }
  if (!isLine(value)) throw damaged(file, number, 'it is neither an event nor a record');
  // Other programs hash the text. JSON keeps the last of repeated keys, which would hide the others from them.
  if (canonicalForm(value) !== text) throw damaged(file, number, 'it is not canonical JSON (RFC 8785)');
  return value;
}

const damaged = (file: string, line: number, why: string, cause?: unknown): UnusableCopy =>
  new UnusableCopy(line === 1 ? foreign(file) : `${file} is damaged in line ${line}: ${why}`, cause);

const foreign = (file: string): string => `${file} is neither an export nor a backup of this service`;

/** Id, stream, revision, type, data and metadata. */
const EVENT_FIELDS = 6;

/** Whether it has the form of a line. The digest protects its content. */
function isLine(value: unknown): value is Line {
  if (!isObject(value)) return false;
  const fields = Object.keys(value).length;
  if ('id' in value)
    return (
      fields === EVENT_FIELDS &&
      [value.id, value.stream, value.type].every(isText) &&
      isCount(value.revision) &&
      isObject(value.data) &&
      isObject(value.metadata)
    );
  if (fields !== 1) return false;
  if (isObject(value.export)) return isHeader(value.export);
  if (isObject(value.record))
    return (
      typeof value.record.collection === 'string' &&
      typeof value.record.key === 'string' &&
      isObject(value.record.document)
    );
  return isObject(value.trailer) && typeof value.trailer.sha256 === 'string';
}

function isHeader({ format, logId, purpose, ...texts }: { readonly [field: string]: unknown }): boolean {
  if (!isText(format) || !/^venue-export-\d{1,9}$/.test(format)) return false;
  if (!isText(logId) || !/^[\w-]{1,100}$/.test(logId)) return false;
  if (purpose !== undefined && purpose !== 'move' && purpose !== 'keep') return false;
  const { stream, from, to, probe } = texts;
  return [stream, from, to, probe].every((text) => text === undefined || isText(text));
}

/** Whether a text is the whole last line, with or without its line feed. */
export function isTrailer(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && isObject(value.trailer);
  } catch {
    return false;
  }
}

function headerIn(file: string, line: Line): Header {
  if (!('export' in line)) throw new UnusableCopy(foreign(file));
  const { format, storeFormat } = line.export;
  if (format !== FORMAT || storeFormat !== STORE_FORMAT)
    throw new UnusableCopy(
      `${file} was made by another release, in another format; this release reads only store format ${STORE_FORMAT}: read it with the release that made it`,
    );
  return line.export;
}
