import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startTimer } from '../../event-loop/timer.ts';
import type { FileName } from '../../sqlite/file-name.ts';
import { isGeneration } from '../document-store.ts';
import { type CheckpointRow, createCheckpoint, prepareCheckpoint } from './checkpoints.ts';
import { type FileOptions, openSqliteFile, type SqliteFile } from './file.ts';

/** The subfolder for the files of the generations. */
const FOLDER = 'read-models';
/**
 * The page size of these files, in bytes. Indexing a long collection is a sixth faster than with SQLite's default of 4,096. With
 * 16,384 it is slightly faster still, but each later booking takes a third longer.
 */
const PAGE_SIZE = 8_192;
/** Removing three files takes a few milliseconds. */
const REMOVED_WITHIN_MS = 1_000;
/** SQLite’s codes for a file of which only a part is left: SQLITE_IOERR_SHORT_READ and SQLITE_IOERR_FSTAT (sqlite.org/rescode.html). */
const PARTLY_REMOVED: readonly unknown[] = [522, 1802];
const isPartlyRemoved = (error: unknown): boolean =>
  error instanceof Error && PARTLY_REMOVED.includes(Object(error.cause).errcode);
/** What SQLite keeps beside a file. */
const SIDE_FILE = /-(?:wal|shm)$/;

/** The paths of the files of all generations. */
export function generationFilesIn(store: string): readonly string[] {
  const folder = join(store, FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.sqlite')).map((name) => join(folder, name));
}

/** The file of a generation. */
export type GenerationFile = SqliteFile & {
  readonly checkpoint: CheckpointRow;
};

/**
 * The generations of read models. Each has its own file, so that a build blocks no other writes and a drop returns the space
 * at once (docs/decisions/read-models.md). File names end with the number of the main file, which holds the catalogue of the generations;
 * without that file they are useless.
 */
export class GenerationFiles {
  readonly #folder: string;
  readonly #repair: string;
  readonly #suffix: string;
  readonly #options: FileOptions;
  readonly #open = new Map<string, Promise<GenerationFile>>();

  /** @param deps.store the number of the main file */
  constructor(deps: {
    readonly folder: string;
    readonly repair: string;
    readonly store: number;
    readonly options: FileOptions;
  }) {
    this.#folder = join(deps.folder, FOLDER);
    this.#repair = deps.repair;
    this.#options = deps.options;
    this.#suffix = `.${deps.store}.sqlite`;
    for (const file of this.#files()) {
      const main = join(this.#folder, file.replace(SIDE_FILE, ''));
      if (!file.includes(this.#suffix) || !existsSync(main)) rmSync(join(this.#folder, file), { force: true });
    }
  }

  has(generation: string): boolean {
    return existsSync(this.#path(generation));
  }

  names(): string[] {
    return this.#files()
      .filter((file) => file.endsWith(this.#suffix))
      .map((file) => file.slice(0, -this.#suffix.length))
      .filter(isGeneration);
  }

  /** The total size. */
  bytes(): number {
    return this.#files().reduce(
      (sum, file) => sum + (statSync(join(this.#folder, file), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  }

  /** The file of a generation, created if absent. */
  open(generation: string): Promise<GenerationFile> {
    const opened = this.#open.get(generation) ?? this.#connect(generation);
    this.#open.set(generation, opened);
    opened.catch(() => this.#open.delete(generation));
    return opened;
  }

  async remove(generation: string): Promise<void> {
    const path = this.#path(generation);
    // Remove the main file last: while it exists, an interrupted removal is repeated.
    for (const file of [`${path}-wal`, `${path}-shm`, path]) await rm(file, { force: true });
    await this.closeRemoved();
  }

  /**
   * Closes files that any process has removed, because only then does the disk get the space back. They have no readers.
   * @returns the names of those generations
   */
  async closeRemoved(): Promise<string[]> {
    const closed: string[] = [];
    for (const [generation, opening] of [...this.#open]) {
      if (this.has(generation)) continue;
      const file = await opening.catch(() => undefined);
      // It was being created.
      if (this.has(generation)) continue;
      this.#open.delete(generation);
      await file?.close();
      closed.push(generation);
    }
    return closed;
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#open.values());
    await Promise.all(opened.map((file) => (file.status === 'fulfilled' ? file.value.close() : undefined)));
  }

  async #connect(generation: string): Promise<GenerationFile> {
    try {
      return await this.#openFile(generation);
    } catch (error) {
      if (!isPartlyRemoved(error) || !(await this.#isRemovedSoon(generation))) throw error;
      return this.#openFile(generation);
    }
  }

  /** Whether a file that cannot be read is just being removed: it cannot be read while only some of its files are left. */
  async #isRemovedSoon(generation: string): Promise<boolean> {
    const waited = startTimer();
    while (this.has(generation) && waited() < REMOVED_WITHIN_MS) await pause(20);
    return !this.has(generation);
  }

  async #openFile(generation: string): Promise<GenerationFile> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const name: FileName = { what: 'read-model file', path: this.#path(generation), repair: this.#repair };
    const file = await openSqliteFile({ ...name, pageSize: PAGE_SIZE }, 'lazy', this.#options);
    await createCheckpoint(file);
    return { ...file, checkpoint: prepareCheckpoint(file.database) };
  }

  #path = (generation: string): string => join(this.#folder, `${generation}${this.#suffix}`);

  #files(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : [];
  }
}
