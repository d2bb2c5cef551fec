import { isObject } from '../domain/is-object.ts';
import type { Position, StoredEvent } from '../event-store/event-store.ts';
import { CopyCheck } from './copy-check.ts';
import { damaged, readLines } from './files.ts';
import { isCount, isPosition, isText } from './form.ts';
import type { Engines, LogFile, Manifest, RecordsFile } from './manifest.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** A record in a backup. */
export type BackedUpRecord = { readonly key: string; readonly document: { readonly [field: string]: unknown } };

/**
 * The events of a backup, in log order.
 * @throws {UnusableCopy} if a file holds anything else
 */
export async function* eventsOf(folder: string, files: readonly LogFile[]): AsyncGenerator<StoredEvent> {
  let last: Position = '';
  for (const file of files) {
    for await (const line of readLines(folder, file)) {
      if (!isEvent(line)) throw damaged(folder, file, 'it holds something other than events');
      if (line.position <= last) throw damaged(folder, file, 'its events are out of order');
      last = line.position;
      yield line;
    }
  }
}

/**
 * The records of one collection.
 * @throws {UnusableCopy} if the file holds anything else
 */
export async function* recordsOf(folder: string, file: RecordsFile): AsyncGenerator<BackedUpRecord> {
  for await (const line of readLines(folder, file)) {
    if (!isRecord(line)) throw damaged(folder, file, 'it holds something other than records');
    yield line;
  }
}

/**
 * Reads every file of a backup, and checks that its engines can store all of it.
 * @throws {UnusableCopy} for the first file that has changed, or cannot be stored
 */
export async function verifyFiles(
  folder: string,
  { records, log, engines }: Pick<Manifest, 'records' | 'log' | 'engines'>,
): Promise<void> {
  const check = new CopyCheck();
  try {
    for (const file of records)
      for await (const { key } of recordsOf(folder, file)) {
        const problem = check.record(file.collection, key);
        if (problem !== undefined) throw damaged(folder, file, `it holds ${problem}`);
      }
    for await (const event of eventsOf(folder, log)) {
      const problem = check.event(event) ?? (isOf(engines, event, check) ? undefined : 'events of another engine');
      if (problem !== undefined) throw new UnusableCopy(`The log in ${folder} is damaged: it holds ${problem}`);
    }
  } finally {
    check.close();
  }
}

/** Whether the engine of a backup can have had an event, which the check has passed. */
const isOf = ({ log }: Engines, { position }: StoredEvent, { foreignStream }: CopyCheck): boolean =>
  log === 'embedded'
    ? position.length === EMBEDDED_POSITION
    : position.length !== EMBEDDED_POSITION && foreignStream === undefined;

/** In digits. */
const EMBEDDED_POSITION = 16;

const isRecord = (line: unknown): line is BackedUpRecord =>
  isObject(line) && isText(line.key) && isObject(line.document);

const isEvent = (line: unknown): line is StoredEvent =>
  isObject(line) &&
  [line.id, line.stream, line.type].every(isText) &&
  isCount(line.revision) &&
  isPosition(line.position) &&
  isObject(line.data) &&
  isObject(line.metadata);
