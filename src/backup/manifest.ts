import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../domain/is-object.ts';
import { LOG_START, type Position } from '../event-store/event-store.ts';
import { writePrivate } from '../runtime/private-file.ts';
import { STORE_FORMAT } from '../store-identity/store-format.ts';
import { isCollectionName, isName } from './copy-check.ts';
import type { Lines } from './files.ts';
import { isCount, isPosition, isText } from './form.ts';
import { UnusableCopy } from './unusable-copy.ts';

const FORMAT = 'venue-backup-1';

/** The engines of a store. A backup needs the same ones for a restore. */
export type Engines = {
  readonly log: 'embedded' | 'EventStoreDB';
  readonly documents: 'embedded' | 'MongoDB';
};

/** The positions of consumer groups: everything up to there had been handled. */
export type GroupPositions = { readonly [group: string]: Position };

/** A collection of records, in the order of its keys. */
export type RecordsFile = Lines & { readonly collection: string; readonly ttl?: string };

/** A range of the log. */
export type LogFile = Lines & { readonly first: Position; readonly last: Position };

/** A backup as far as it has been written. */
export type Progress = {
  readonly format: typeof FORMAT;
  /** See {@link STORE_FORMAT}. */
  readonly storeFormat: typeof STORE_FORMAT;
  readonly logId: string;
  readonly engines: Engines;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** Noted before anything was copied (docs/decisions/backups.md). */
  readonly groups: GroupPositions;
  /** A value sealed with the secret key of the store, to detect another key. */
  readonly probe: string;
  readonly records: readonly RecordsFile[];
  readonly log: readonly LogFile[];
};

/** A backup that is complete. */
export type Manifest = Progress & {
  readonly finishedAt: string;
  /** Whether the secret key is in the backup. */
  readonly secretKey: boolean;
};

const MANIFEST = 'manifest.json';
/** The unfinished manifest. An interrupted backup continues from it. */
const PROGRESS = 'progress.json';

export const recordsPath = (collection: string): string => join('records', `${collection}.ndjson`);
/** @param number from 1 */
export const logPath = (number: number): string => join('log', `${String(number).padStart(6, '0')}.ndjson`);

export const newProgress = (progress: Omit<Progress, 'format' | 'storeFormat' | 'records' | 'log'>): Progress => ({
  format: FORMAT,
  storeFormat: STORE_FORMAT,
  ...progress,
  records: [],
  log: [],
});

export const readProgress = (folder: string): Progress | undefined => read(join(folder, PROGRESS), isProgress);
export const hasManifest = (folder: string): boolean => existsSync(join(folder, MANIFEST));

/** @throws {UnusableCopy} if there is no complete backup in the folder */
export function readManifest(folder: string): Manifest {
  const manifest = read(join(folder, MANIFEST), isManifest);
  if (manifest !== undefined) return manifest;
  const why =
    readProgress(folder) === undefined ? 'no backup' : 'a backup that is not complete: run venue backup again';
  throw new UnusableCopy(`${folder} holds ${why}`);
}

export const writeProgress = (folder: string, progress: Progress): void =>
  writePrivate(join(folder, PROGRESS), `${JSON.stringify(progress, null, 2)}\n`, 'replace');
export const writeManifest = (folder: string, manifest: Manifest): void =>
  writePrivate(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, 'replace');
export const progressFile = (folder: string): string => join(folder, PROGRESS);

/** In bytes. A manifest has about 300 per 50,000 events. */
const LONGEST = 64 * 1024 * 1024;

function read<P extends Progress>(path: string, isWhole: (found: Fields) => found is Fields & P): P | undefined {
  if (!existsSync(path)) return undefined;
  const stats = lstatSync(path);
  if (!stats.isFile() || stats.size > LONGEST) throw new UnusableCopy(`${path} is a link, not a file, or too large`);
  let found: unknown;
  try {
    found = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UnusableCopy(`${path} is damaged: it is not JSON`, error);
  }
  if (!isObject(found) || found.format !== FORMAT || found.storeFormat !== STORE_FORMAT)
    throw new UnusableCopy(`${path} has another format than ${FORMAT} with store format ${STORE_FORMAT}`);
  if (!isWhole(found)) throw new UnusableCopy(`${path} is damaged: it is not what venue backup writes`);
  return found;
}

type Fields = { readonly [field: string]: unknown };

const isManifest = (found: Fields): found is Fields & Manifest =>
  isProgress(found) && isTime(found.finishedAt) && typeof found.secretKey === 'boolean';

const isProgress = (found: Fields): found is Fields & Progress =>
  isText(found.logId) &&
  /^[\w-]{1,100}$/.test(found.logId) &&
  isTime(found.startedAt) &&
  isText(found.probe) &&
  isEngines(found.engines) &&
  isObject(found.groups) &&
  Object.entries(found.groups).every(([name, at]) => isName(name) && (at === LOG_START || isPosition(at))) &&
  isListOf(found.records, isRecordsFile) &&
  new Set(found.records.map(({ collection }) => collection.toLowerCase())).size === found.records.length &&
  isListOf(found.log, isLogFile);

const isListOf = <T>(value: unknown, isOne: (one: unknown, index: number) => one is T): value is readonly T[] =>
  Array.isArray(value) && value.every(isOne);

const isTime = (value: unknown): boolean => isText(value) && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);

const isEngines = (value: unknown): boolean =>
  isObject(value) &&
  ['embedded', 'EventStoreDB'].some((engine) => engine === value.log) &&
  ['embedded', 'MongoDB'].some((engine) => engine === value.documents);

/** The path follows from the name, so that it cannot lead out of the backup. */
const isRecordsFile = (value: unknown): value is RecordsFile =>
  isObject(value) &&
  isText(value.collection) &&
  isCollectionName(value.collection) &&
  (value.ttl === undefined || (isText(value.ttl) && /^\w{1,100}$/.test(value.ttl))) &&
  isLines(value, recordsPath(value.collection));

const isLogFile = (value: unknown, index: number): value is LogFile =>
  isObject(value) && isPosition(value.first) && isPosition(value.last) && isLines(value, logPath(index + 1));

const isLines = ({ file, lines, bytes, sha256 }: Fields, path: string): boolean =>
  file === path && isCount(lines) && isCount(bytes) && isText(sha256) && /^[0-9a-f]{64}$/.test(sha256);
