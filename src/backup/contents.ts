import { isObject } from '../domain/is-object.ts';
import type { Position, StoredEvent } from '../event-store/event-store.ts';
import { damaged, readLines } from './files.ts';
import { isCount, isPosition, isText } from './form.ts';
import type { LogFile, RecordsFile } from './manifest.ts';

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

/** Reads every file of a backup. @throws {UnusableCopy} for the first that has changed */
export async function verifyFiles(
  folder: string,
  { records, log }: { readonly records: readonly RecordsFile[]; readonly log: readonly LogFile[] },
): Promise<void> {
  for (const file of records) for await (const _ of recordsOf(folder, file));
  for await (const _ of eventsOf(folder, log));
}

const isRecord = (line: unknown): line is BackedUpRecord =>
  isObject(line) && isText(line.key) && isObject(line.document);

const isEvent = (line: unknown): line is StoredEvent =>
  isObject(line) &&
  [line.id, line.stream, line.type].every(isText) &&
  isCount(line.revision) &&
  isPosition(line.position) &&
  isObject(line.data) &&
  isObject(line.metadata);
