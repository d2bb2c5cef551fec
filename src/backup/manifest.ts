import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Position } from '../event-store/event-store.ts';
import { writePrivate } from '../runtime/private-file.ts';
import { STORE_FORMAT } from '../store-identity/store-format.ts';
import type { Lines } from './files.ts';
import { UnusableCopy } from './unusable-copy.ts';

const FORMAT = 'venue-backup-1';

/** The engines of a store. A backup is restored into the same ones. */
export type Engines = {
  readonly log: 'embedded' | 'EventStoreDB';
  readonly documents: 'embedded' | 'MongoDB';
};

/** The positions of consumer groups: everything up to there had been handled. */
export type GroupPositions = { readonly [group: string]: Position };

/** A collection of records, in the order of its keys. */
export type RecordsFile = Lines & { readonly collection: string; readonly ttl?: string };

/** A stretch of the log. */
export type LogFile = Lines & { readonly first: Position; readonly last: Position };

/** What has been copied so far. */
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
  /** A value sealed with the secret key of the store, by which another key is recognised. */
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
/** What the manifest is to become. A backup that was interrupted goes on from there. */
const PROGRESS = 'progress.json';

export const newProgress = (progress: Omit<Progress, 'format' | 'storeFormat' | 'records' | 'log'>): Progress => ({
  format: FORMAT,
  storeFormat: STORE_FORMAT,
  ...progress,
  records: [],
  log: [],
});

export const readProgress = (folder: string): Progress | undefined => read<Progress>(join(folder, PROGRESS));
export const hasManifest = (folder: string): boolean => existsSync(join(folder, MANIFEST));

/** @throws {UnusableCopy} if there is no complete backup in the folder */
export function readManifest(folder: string): Manifest {
  const manifest = read<Manifest>(join(folder, MANIFEST));
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

function read<P extends Progress>(path: string): P | undefined {
  if (!existsSync(path)) return undefined;
  let found: P | null;
  try {
    found = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UnusableCopy(`${path} is damaged: it is not JSON`, error);
  }
  if (found?.format !== FORMAT || found.storeFormat !== STORE_FORMAT)
    throw new UnusableCopy(`${path} has another format than ${FORMAT} with store format ${STORE_FORMAT}`);
  return found;
}
