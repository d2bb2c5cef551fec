import { rm, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { canonicalForm, type PortableEvent, portableEvent } from '../audit/portable-event.ts';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { defined } from '../domain/defined.ts';
import {
  type EventStore,
  type JsonObject,
  LOG_START,
  logEnd,
  type Position,
  type StoredEvent,
} from '../event-store/event-store.ts';
import { MARKS } from '../outbox/marks.ts';
import { OWNER_ONLY } from '../runtime/private-file.ts';
import type { Counts, Header, RecordLine, Trailer } from './format.ts';
import type { Lines } from './lines.ts';
import { createMovedPositions } from './moved-positions.ts';
import { readText } from './read-export.ts';
import { afterLogOf, moves, positionsIn, ttlOf, withPositions } from './record-kinds.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** Events per progress report. */
const PROGRESS_EVERY = 10_000;

export type ExportStore = {
  readonly events: Pick<EventStore, 'readAll' | 'readStream' | 'lastEvent'>;
  readonly header: Header;
  readonly lines: Lines;
  /** The progress of an interrupted export, and its last event. */
  readonly begun?: { readonly counts: Counts; readonly last: PortableEvent | undefined };
  /** The second part of a full export. */
  readonly records?: {
    readonly documents: Pick<OperatedDocumentStore, 'collections' | 'open'>;
    /** A new file for a copy of the records, because the store may be in use. Default: the store is fenced. */
    readonly copyTo?: string;
  };
  readonly onProgress: (progress: { readonly done: number }) => void;
};

/**
 * Writes the events of a log, and for a full export its records, in a form that is the same on every engine. Of a store in use,
 * the records are copied before the log, so that the log has every event that a record refers to, but photos after it (docs/decisions/backups.md).
 * @throws {UnusableCopy} if an export that is continued is not of this log
 */
export async function exportStore(deps: ExportStore): Promise<Trailer> {
  const { copyTo } = deps.records ?? {};
  try {
    return await writeStore(deps);
  } finally {
    if (copyTo !== undefined) await rm(copyTo, { force: true });
  }
}

async function writeStore(deps: ExportStore): Promise<Trailer> {
  const { events, header, lines, begun, records, onProgress } = deps;
  if (begun === undefined) lines.begin({ export: header });
  const last = begun?.last;
  const written = last === undefined ? LOG_START : await positionOf(events, last);
  const source = records === undefined ? undefined : await recordsToWrite(records);
  const wanted = source === undefined ? [] : await positionsOf(source.beforeLog());
  const named = createMovedPositions<string>(wanted, '');

  let done = begun?.counts.events ?? 0;
  let passed = 0;
  // With records, start at the beginning even to continue: positions in records are replaced by the events there.
  const first = records === undefined ? written : LOG_START;
  for await (const event of eventsOf(events, header, last, first)) {
    if (records !== undefined) named.stored(event.position, event.id);
    if (event.position <= written) {
      passed += 1;
      continue;
    }
    await lines.add('events', portableEvent(event));
    done += 1;
    if (done % PROGRESS_EVERY === 0) onProgress({ done });
  }
  if (source === undefined) return lines.end();
  if (passed !== (begun?.counts.events ?? 0)) throw otherLog();
  named.end();

  for (const part of [source.beforeLog(), source.afterLog()])
    for await (const { collection, key, document } of part) {
      const portable = withPositions(collection, document, (position) => named.of(position) ?? '');
      await lines.add('records', { record: { collection, key, document: portable } });
    }
  return lines.end();
}

/** The events of an export, in log order, up to the current end of the log. */
async function* eventsOf(
  events: ExportStore['events'],
  { stream, from, to }: Header,
  last: PortableEvent | undefined,
  after: Position,
): AsyncGenerator<StoredEvent> {
  const end = await logEnd(events);
  const source =
    stream === undefined
      ? events.readAll({ after })
      : events.readStream(stream, { from: last === undefined ? 0 : last.revision + 1 });
  for await (const event of source) {
    if (event.position > end) return;
    const { at } = event.metadata;
    if (from !== undefined && !(typeof at === 'string' && at >= from)) continue;
    if (to !== undefined && !(typeof at === 'string' && at < to)) continue;
    yield event;
  }
}

/** The position of the last event of an interrupted export. */
async function positionOf(events: ExportStore['events'], last: PortableEvent): Promise<Position> {
  for await (const event of events.readStream(last.stream, { from: last.revision, limit: 1 }))
    if (canonicalForm(portableEvent(event)) === canonicalForm(last)) return event.position;
  throw otherLog();
}

const otherLog = () => new UnusableCopy('The file holds the beginning of an export of another log; name another file');

/**
 * All records that move, by collection and key. The marks come first: what they say is handled is then in the records copied after them.
 * @param part those that are read before the log, or after it
 */
async function* recordsOf(
  documents: Pick<OperatedDocumentStore, 'collections' | 'open'>,
  part: 'before' | 'after',
): AsyncGenerator<RecordLine> {
  const records = (await documents.collections()).filter(
    ({ kind, name }) => kind === 'record' && moves(name) && afterLogOf(name) > 0 === (part === 'after'),
  );
  for (const { name: collection, ttl = ttlOf(collection) } of records.toSorted(inOrder)) {
    const declared = { name: collection, kind: 'record', indexes: [], ...defined({ ttl }) } as const;
    const opened = await documents.open<JsonObject>(declared);
    for await (const { key, document } of opened.find(everyDocument())) yield { collection, key, document };
  }
}

type Named = { readonly name: string };

const inOrder = (a: Named, b: Named): number =>
  Number(b.name === MARKS.name) - Number(a.name === MARKS.name) ||
  afterLogOf(a.name) - afterLogOf(b.name) ||
  (a.name < b.name ? -1 : 1);

/** The records of a fenced store, or a copy of those of a store in use. */
async function recordsToWrite({ documents, copyTo }: NonNullable<ExportStore['records']>): Promise<RecordSource> {
  const afterLog = () => recordsOf(documents, 'after');
  if (copyTo === undefined) return { beforeLog: () => recordsOf(documents, 'before'), afterLog };
  async function* lines() {
    for await (const record of recordsOf(documents, 'before')) yield `${JSON.stringify(record)}\n`;
  }
  // An interrupted export may have left one.
  await rm(copyTo, { force: true });
  await writeFile(copyTo, Readable.from(lines()), { flag: 'wx', mode: OWNER_ONLY });
  return { beforeLog: () => copiedIn(copyTo), afterLog };
}

async function* copiedIn(file: string): AsyncGenerator<RecordLine> {
  for await (const { text } of readText(file)) yield JSON.parse(text);
}

/** Records that are read before the log, and after it. */
type RecordSource = { beforeLog(): AsyncIterable<RecordLine>; afterLog(): AsyncIterable<RecordLine> };

async function positionsOf(records: AsyncIterable<RecordLine>): Promise<ReadonlySet<Position>> {
  const positions = new Set<Position>();
  for await (const { collection, document } of records)
    for (const position of positionsIn(collection, document)) positions.add(position);
  return positions;
}
