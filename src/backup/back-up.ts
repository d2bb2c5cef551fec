import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeclaredCollection, DocumentStore, OperatedDocumentStore } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { type EventStore, LOG_START, logEnd, type Position, type StoredEvent } from '../event-store/event-store.ts';
import { makeFolder } from '../runtime/make-folder.ts';
import { writePrivate } from '../runtime/private-file.ts';
import { currentKey, type SecretKey } from '../secrets/secret-key.ts';
import { newProbe, RECORDS_MEMORY } from '../store-identity/store-memory.ts';
import { verifyFiles } from './contents.ts';
import { type Lines, writeLines } from './files.ts';
import {
  type Engines,
  type GroupPositions,
  hasManifest,
  type LogFile,
  logPath,
  type Manifest,
  newProgress,
  type Progress,
  progressFile,
  type RecordsFile,
  readProgress,
  recordsPath,
  writeManifest,
  writeProgress,
} from './manifest.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** Events per file of the log. A continued backup repeats only the file that was being written. */
const EVENTS_PER_FILE = 50_000;

/** The key file of an embedded store, named as in `DATA_DIR`. */
export const SECRET_KEY_FILE = 'secret.key';

export type BackUp = {
  readonly events: Pick<EventStore, 'readAll' | 'lastEvent'>;
  readonly documents: Pick<OperatedDocumentStore, 'collections' | 'open'>;
  readonly logId: string;
  readonly engines: Engines;
  /** The current positions of the consumer groups. */
  readonly groups: () => Promise<GroupPositions>;
  readonly secretKey: SecretKey;
  /** Whether to copy the secret key too, which makes all secrets of the backup readable. */
  readonly withSecretKey: boolean;
  readonly folder: string;
  readonly onProgress: (progress: { readonly done: number }) => void;
};

/**
 * Copies a store that may be in use, or continues an interrupted backup. Notes the positions of the consumer groups, then copies the
 * records, then the log: the backup has every event that a record refers to, and every event that may lack deliveries is handled again
 * (docs/decisions/backups.md). At the end everything is read back and compared.
 * @throws {UnusableCopy} if the folder holds something else, or the backup reads back differently
 */
export async function backUp(deps: BackUp): Promise<Manifest> {
  const { events, documents, logId, engines, secretKey, withSecretKey, folder, onProgress } = deps;
  try {
    makeFolder(folder, 0o700);
  } catch (error) {
    throw new UnusableCopy(`${folder} cannot be created: ${error instanceof Error ? error.message : error}`, error);
  }
  let progress =
    resumed(folder, logId) ??
    newProgress({
      ...{ logId, engines, startedAt: new Date().toISOString(), groups: await deps.groups() },
      probe: newProbe(logId, secretKey),
    });
  const save = (next: Progress) => {
    progress = next;
    writeProgress(folder, next);
  };
  save(progress);

  for (const collection of await documents.collections()) {
    const { name, kind } = collection;
    if (kind !== 'record' || name === RECORDS_MEMORY.name) continue;
    if (progress.records.some((file) => file.collection === name)) continue;
    const copied = await copyRecords(documents, collection, folder);
    save({ ...progress, records: [...progress.records, copied] });
  }

  const end = await logEnd(events);
  for (;;) {
    const after = progress.log.at(-1)?.last ?? LOG_START;
    const copied = await copyEvents(events, after, end, folder, progress.log.length + 1);
    if (copied === undefined) break;
    save({ ...progress, log: [...progress.log, copied] });
    onProgress({ done: countOf(progress.log) });
  }

  await verifyFiles(folder, progress);
  if (withSecretKey) writePrivate(join(folder, SECRET_KEY_FILE), currentKey(secretKey).toString('base64'), 'replace');
  const manifest = { ...progress, finishedAt: new Date().toISOString(), secretKey: withSecretKey };
  writeManifest(folder, manifest);
  await rm(progressFile(folder));
  return manifest;
}

export const countOf = (files: readonly Lines[]): number => files.reduce((sum, { lines }) => sum + lines, 0);

function resumed(folder: string, logId: string): Progress | undefined {
  if (hasManifest(folder)) throw new UnusableCopy(`${folder} holds a complete backup; name another folder`);
  const progress = readProgress(folder);
  if (progress === undefined && existsSync(folder) && readdirSync(folder).length > 0)
    throw new UnusableCopy(`${folder} is not empty and holds no backup that could be continued; name another folder`);
  if (progress !== undefined && progress.logId !== logId)
    throw new UnusableCopy(`${folder} holds the beginning of a backup of another store; name another folder`);
  return progress;
}

async function copyRecords(
  documents: Pick<DocumentStore, 'open'>,
  { name, kind, ttl }: DeclaredCollection,
  folder: string,
): Promise<RecordsFile> {
  const declared = ttl === undefined ? {} : { ttl };
  const collection = await documents.open<Record<string, unknown>>({ name, kind, indexes: [], ...declared });
  async function* lines() {
    for await (const { key, document } of collection.find(everyDocument())) yield { key, document };
  }
  return { ...(await writeLines(folder, recordsPath(name), lines())), collection: name, ...declared };
}

/** @returns undefined if there are no events between the two positions */
async function copyEvents(
  events: Pick<EventStore, 'readAll'>,
  after: Position,
  end: Position,
  folder: string,
  number: number,
): Promise<LogFile | undefined> {
  if (after >= end) return undefined;
  let [first, last] = ['', ''];
  async function* lines(): AsyncGenerator<StoredEvent> {
    for await (const event of events.readAll({ after, limit: EVENTS_PER_FILE })) {
      if (event.position > end) return;
      first ||= event.position;
      last = event.position;
      yield event;
    }
  }
  const written = await writeLines(folder, logPath(number), lines());
  return { ...written, first, last };
}
