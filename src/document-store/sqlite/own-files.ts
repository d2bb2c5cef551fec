import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileName } from '../../sqlite/file-name.ts';
import { type Checkpoints, createCheckpoints, prepareCheckpoints } from './checkpoints.ts';
import { type FileOptions, openSqliteFile, type SqliteFile } from './file.ts';

/** The subfolder for collections with their own files. */
const FOLDER = 'read-models';
/**
 * The page size of these files, in bytes. Indexing a long collection is a sixth faster than with SQLite's default of 4,096. With
 * 16,384 it is slightly faster still, but each later booking takes a third longer.
 */
const PAGE_SIZE = 8_192;

/** A file with one collection. */
export type OwnFile = SqliteFile & {
  readonly name: FileName;
  readonly checkpoints: Checkpoints;
};

/**
 * Collections that were loaded in bulk. Each has its own file, so that a build blocks no other writes and a drop returns the space
 * at once (docs/decisions/read-models.md). File names end with the number of the main file, which holds the catalogue of the read models;
 * without that file they are useless.
 */
export class OwnFiles {
  readonly #folder: string;
  readonly #repair: string;
  readonly #suffix: string;
  readonly #options: FileOptions;
  readonly #open = new Map<string, Promise<OwnFile>>();

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
    for (const file of this.#files())
      if (!file.includes(this.#suffix)) rmSync(join(this.#folder, file), { force: true });
  }

  has(collection: string): boolean {
    return existsSync(this.#path(collection));
  }

  names(): string[] {
    return this.#files()
      .filter((file) => file.endsWith(this.#suffix))
      .map((file) => file.slice(0, -this.#suffix.length));
  }

  /** The total size. */
  bytes(): number {
    return this.#files().reduce(
      (sum, file) => sum + (statSync(join(this.#folder, file), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  }

  /** The file of a collection, which is created if absent. */
  open(collection: string): Promise<OwnFile> {
    const opened = this.#open.get(collection) ?? this.#connect(collection);
    this.#open.set(collection, opened);
    opened.catch(() => this.#open.delete(collection));
    return opened;
  }

  async remove(collection: string): Promise<void> {
    const path = this.#path(collection);
    // Remove the main file last: while it exists, an interrupted removal is repeated.
    for (const file of [`${path}-wal`, `${path}-shm`, path]) await rm(file, { force: true });
    await this.closeRemoved();
  }

  /**
   * Closes files that any process has removed, because only then does the disk get the space back. They have no readers.
   * @returns the names of those collections
   */
  async closeRemoved(): Promise<string[]> {
    const removed = [...this.#open].filter(([collection]) => !this.has(collection));
    for (const [collection, opening] of removed) {
      const file = await opening.catch(() => undefined);
      // Skip a file that is being created.
      if (this.has(collection)) continue;
      this.#open.delete(collection);
      await file?.close();
    }
    return removed.map(([collection]) => collection);
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#open.values());
    await Promise.all(opened.map((file) => (file.status === 'fulfilled' ? file.value.close() : undefined)));
  }

  async #connect(collection: string): Promise<OwnFile> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const name: FileName = { what: 'read-model file', path: this.#path(collection), repair: this.#repair };
    const file = await openSqliteFile({ ...name, pageSize: PAGE_SIZE }, 'lazy', this.#options);
    await createCheckpoints(file);
    return { ...file, name, checkpoints: prepareCheckpoints(file.database) };
  }

  #path = (collection: string): string => join(this.#folder, `${collection}${this.#suffix}`);

  #files(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : [];
  }
}
